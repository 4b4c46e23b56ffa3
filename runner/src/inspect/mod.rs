//! Drives `sass` over built files and compares both sides.
