//! The pinned toolchains: which packages, in which versions, with which content.

/// A toolchain that the runner can install.
#[derive(Debug)]
pub(super) struct Pinned {
    /// The version, as it stands in `cuda = "…"`.
    pub version: &'static str,
    /// The folder of the toolchain within the installed packages.
    pub root: &'static str,
    /// Its packages.
    pub packages: &'static [Package],
}

/// A package and its wheels.
#[derive(Debug)]
pub(super) struct Package {
    /// Its name in the registry.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// For x86-64.
    pub x86_64: Wheel,
    /// For 64-bit ARM.
    pub aarch64: Wheel,
}

/// The content of a wheel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wheel {
    /// SHA-256, hex.
    pub sha256: &'static str,
    /// Size in bytes.
    pub bytes: u64,
}

impl Package {
    /// The wheel for a machine, by its name in [`std::env::consts::ARCH`].
    pub fn wheel(&self, machine: &str) -> Option<Wheel> {
        match machine {
            "x86_64" => Some(self.x86_64),
            "aarch64" => Some(self.aarch64),
            _ => None,
        }
    }
}

/// All of them.
pub(super) const PINNED: &[Pinned] = &[Pinned {
    version: "13.0",
    root: "nvidia/cu13",
    packages: &[
        Package {
            name: "nvidia-cuda-nvcc",
            version: "13.0.88",
            x86_64: Wheel {
                sha256: "56fe502eb77625a12f25172caa3cdddb4e4c8ba2c8c17dba44b164761b380f03",
                bytes: 37_384_532,
            },
            aarch64: Wheel {
                sha256: "c7ff28f86a24effdc6c034fa15230c549a273e4771b10a7fec14996f8cf3307f",
                bytes: 32_455_430,
            },
        },
        Package {
            name: "nvidia-nvvm",
            version: "13.0.88",
            x86_64: Wheel {
                sha256: "c5f41ffeb6466944a026dfa5317d7d85355c119bbec279205d22f1869d1054e0",
                bytes: 61_601_415,
            },
            aarch64: Wheel {
                sha256: "c4376a291d72d22a315d9d2f69bdae8f8cd83a627f75bad395cee49a0fe65dc1",
                bytes: 59_234_185,
            },
        },
        Package {
            name: "nvidia-cuda-crt",
            version: "13.0.88",
            x86_64: Wheel {
                sha256: "2c8043c7c9e02492716426e9919fc78d2c5b3b2a7a768a88e952676b08aa55a4",
                bytes: 134_086,
            },
            aarch64: Wheel {
                sha256: "ee2ea2a97073e02ee62bb27841f437332be2c248e3eac013df07997ada39c003",
                bytes: 134_086,
            },
        },
        Package {
            name: "nvidia-cuda-runtime",
            version: "13.0.96",
            x86_64: Wheel {
                sha256: "7f82250d7782aa23b6cfe765ecc7db554bd3c2870c43f3d1821f1d18aebf0548",
                bytes: 2_243_632,
            },
            aarch64: Wheel {
                sha256: "ef9bcbe90493a2b9d810e43d249adb3d02e98dd30200d86607d8d02687c43f55",
                bytes: 2_261_060,
            },
        },
        Package {
            name: "nvidia-cuda-cccl",
            version: "13.0.85",
            x86_64: Wheel {
                sha256: "e0da7ad981f3a8aff08241b5bfc1af868742a63e2762f53a5171c492ef242649",
                bytes: 3_120_526,
            },
            aarch64: Wheel {
                sha256: "6f0203e29fed809ee2b7fe9b1344df66ecab990c37d6a2e0e189b26d6c97ed7c",
                bytes: 3_120_528,
            },
        },
        Package {
            name: "nvidia-cuda-cuobjdump",
            version: "13.2.51",
            x86_64: Wheel {
                sha256: "95c69d3ddf0c2c1f535ec44c3433a66aeee19f588d9d22f73356e20b25f12b50",
                bytes: 343_823,
            },
            aarch64: Wheel {
                sha256: "f2f3bc433a91f4ff910841f2de8bc9e7ce92556602d6e363054fe2bb62a587c4",
                bytes: 318_981,
            },
        },
        Package {
            name: "nvidia-cuda-nvdisasm",
            version: "13.2.51",
            x86_64: Wheel {
                sha256: "5a7acf77c55d6d2911ed6155d4d5bc156ffadf9df7a68a89b0c1155f4b13688c",
                bytes: 4_418_606,
            },
            aarch64: Wheel {
                sha256: "483c8f652c1ca006135584b4faf7ea1d2bafe4c40ec1c9ef57a04c6acfbdd57f",
                bytes: 4_338_166,
            },
        },
    ],
}];

/// The pinned toolchain of a version.
pub(super) fn find(version: &str) -> Option<&'static Pinned> {
    PINNED.iter().find(|pinned| pinned.version == version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wheel_is_pinned_by_a_whole_hash() {
        let mut seen = std::collections::BTreeSet::new();
        for package in PINNED.iter().flat_map(|pinned| pinned.packages) {
            for wheel in [package.x86_64, package.aarch64] {
                assert_eq!(wheel.sha256.len(), 64, "{}", package.name);
                assert!(wheel.sha256.bytes().all(|b| b.is_ascii_hexdigit()));
                assert!(seen.insert(wheel.sha256), "{} twice", package.name);
                assert!(wheel.bytes > 0);
            }
            assert!(package.wheel("riscv64").is_none());
        }
    }
}
