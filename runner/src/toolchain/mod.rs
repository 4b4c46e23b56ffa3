//! The CUDA toolchain: pinned from packages, or the system's; its fingerprint.
