//! Small repositories of each kind.

use super::*;

fn repository(files: &[(&str, &str)]) -> (tempfile::TempDir, Found) {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let root = dir.path().join("my repo");
    for (path, text) in files {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    std::fs::create_dir_all(&root).expect("a folder");
    let found = detect(&root);
    (dir, found)
}

#[test]
fn a_makefile_with_a_phony_default() {
    let (_dir, found) = repository(&[(
        "Makefile",
        "# not for sm_75\nNVCC ?= nvcc\nBIN := engine\nARCH = -arch=sm_121\nOBJS = a.o\n.PHONY: all clean\n\
         all: $(BIN) kernels.cubin tools\n\n$(BIN): $(OBJS) # link\n\t$(NVCC) -gencode arch=compute_90,code=sm_90 -o $@ $^\n\
         %.o: %.cu\n\t$(NVCC) -c $<\n%.cubin: %.cu\n\tnvcc -cubin $<\nbench: engine\n\t./engine\nclean:\n\trm -f $(BIN)\n",
    )]);
    assert_eq!(found.name, "my-repo");
    assert_eq!(found.archs, ["sm_90", "sm_121"]);
    assert_eq!(
        found.recipe,
        Recipe::Make {
            file: "Makefile".into(),
            goal: Some("all".into()),
            toolchain: Vec::new(),
            outputs: vec!["engine".into(), "kernels.cubin".into()],
            others: vec!["bench".into()],
        }
    );
}

#[test]
fn a_makefile_whose_default_is_the_program() {
    let (_dir, found) = repository(&[("makefile", "engine: main.cu\n\tnvcc -o $@ $<\n")]);
    assert!(matches!(
        &found.recipe,
        Recipe::Make { goal: Some(goal), outputs, .. } if goal == "engine" && outputs == &["engine"]
    ));
    assert_eq!(found.archs, [] as [String; 0]);
}

#[test]
fn a_makefile_that_names_a_toolchain_by_its_path() {
    let (_dir, found) = repository(&[(
        "Makefile",
        "CUDA_PATH ?= /usr/local/cuda-12.4\nNVCC := /usr/local/cuda/bin/nvcc\nPREFIX = /opt\n\
         OTHER = $(CUDA_PATH)/bin/nvcc\nengine: main.cu\n\t$(NVCC) -o $@ $<\n",
    )]);
    let Recipe::Make { toolchain, .. } = found.recipe else {
        panic!("{:?}", found.recipe);
    };
    let set: Vec<String> = toolchain.iter().map(|(n, v)| format!("{n}={v}")).collect();
    assert_eq!(
        set,
        [
            "CUDA_PATH=\"${CUDA_HOME:-/usr/local/cuda-12.4}\"",
            "NVCC=nvcc"
        ]
    );
}

#[test]
fn plain_sources_with_headers_elsewhere() {
    let (_dir, found) = repository(&[
        (
            "src/main.cu",
            "#include <cstdio>\n#include \"near.cuh\"\n#include \"mmq/tile.cuh\"\nint main() {}\n",
        ),
        ("src/near.cuh", "#  include <common.h>\n"),
        ("include/mmq/tile.cuh", ""),
        ("lib/common.h", ""),
        ("unused/other.h", ""),
    ]);
    let Recipe::Nvcc { includes, .. } = found.recipe else {
        panic!("{:?}", found.recipe);
    };
    assert_eq!(includes, ["include", "lib"]);
}

#[test]
fn odd_makefiles_do_no_harm() {
    for text in [
        "",
        ":\n",
        "all: all\n",
        "a b: a\nall: a b\n",
        "X = $(X)\n$(X): y\n",
        "export A = b\nifeq ($(A),b)\nendif\n",
        "all:\\\n",
        "x := $(shell ls)\n$(x): $(x)\n",
    ] {
        repository(&[("Makefile", text)]);
    }
}

#[test]
fn cmake_with_targets_in_folders_and_under_conditions() {
    let (_dir, found) = repository(&[
        (
            "CMakeLists.txt",
            "cmake_minimum_required(VERSION 3.24)\nproject(mmq LANGUAGES CXX CUDA) # x\n\
             set(CMAKE_CUDA_ARCHITECTURES \"90a-real;121\")\nadd_executable(${PROJECT_NAME}\n  main.cu)\n\
             add_library(k STATIC k.cu)\nadd_library(i INTERFACE)\nadd_executable(a::b ALIAS x)\n\
             if(TESTS)\n  add_executable(tests t.cu)\nendif()\nadd_subdirectory(tools)\n",
        ),
        ("tools/CMakeLists.txt", "add_library(plug SHARED p.cu)\n"),
        ("build/CMakeLists.txt", "add_executable(ignored x.cu)\n"),
        ("Makefile", "all:\n\tcmake --build build\n"),
    ]);
    assert_eq!(found.archs, ["sm_90a", "sm_121"]);
    assert_eq!(
        found.recipe,
        Recipe::CMake {
            outputs: vec![
                "build/**/mmq".into(),
                "build/**/libk.a".into(),
                "build/**/libplug.so".into()
            ],
            conditional: vec!["build/**/tests".into()],
        }
    );
}

#[test]
fn a_makefile_with_nvcc_beats_cmake_without_cuda() {
    let (_dir, found) = repository(&[
        ("CMakeLists.txt", "project(docs)\n"),
        ("Makefile", "engine: main.cu\n\tnvcc -o $@ $<\n"),
    ]);
    assert!(matches!(found.recipe, Recipe::Make { .. }));
    let (_dir, found) = repository(&[
        ("CMakeLists.txt", "project(docs)\nadd_executable(x x.cpp)\n"),
        (
            "Makefile",
            "# CMAKE generated file: DO NOT EDIT!\nall: x.cu\n",
        ),
    ]);
    assert!(matches!(found.recipe, Recipe::CMake { .. }));
}

#[test]
fn plain_sources() {
    let (_dir, found) = repository(&[
        ("src/main.cu", "int main() { return 0; }\n"),
        ("src/k.cu", "// int main(\n__global__ void k() {}\n"),
        ("build/old.cu", ""),
    ]);
    assert_eq!(
        found.recipe,
        Recipe::Nvcc {
            units: vec![Unit {
                sources: vec!["src/main.cu".into(), "src/k.cu".into()],
                program: Some("main".into())
            }],
            includes: Vec::new(),
        }
    );
    let (_dir, found) = repository(&[
        ("a.cu", "int main(int argc, char **argv) {}\n"),
        ("x/b.cu", "static int main2; int\nmain () {}\n"),
        ("k.cu", "int mainly();\n"),
    ]);
    let Recipe::Nvcc { units, .. } = found.recipe else {
        panic!("{:?}", found.recipe);
    };
    let programs: Vec<_> = units.iter().map(|unit| unit.program.as_deref()).collect();
    assert_eq!(programs, [Some("a"), Some("b"), None]);
}

#[test]
fn an_empty_repository() {
    let (_dir, found) = repository(&[]);
    assert_eq!(found.recipe, Recipe::Unknown);
}
