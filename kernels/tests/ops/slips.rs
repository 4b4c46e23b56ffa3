//! The other tests can fail: faults planted in the sources, one where the problems must show it.

use kernels::ops::call::{Embed, Format, HeadDim, Pairwise, RmsNorm, Sizes, Synthesise};
use kernels::ops::{self, Argmax, Op};

use crate::bits::SEED;
use crate::common::Result;
use crate::{NORM, ROPE, repository, run, seeing};

/// A fault that could be made in a kernel: in which file, where, and what is written instead.
type Slip = (&'static str, &'static str, &'static str);

/// Makes the slip in the sources, and expects the problem to show it.
fn is_found(slip: Slip, problem: &Op) -> Result {
    let (file, right, wrong) = slip;
    let dir = repository()?;
    let path = dir.path().join("kernels").join(file);
    let text = std::fs::read_to_string(&path)?;
    assert_eq!(text.matches(right).count(), 1, "{right}");
    std::fs::write(&path, text.replace(right, wrong))?;
    let (figures, passed) = run(dir.path(), problem)?;
    assert!(!passed, "{wrong}: {figures}");
    Ok(())
}

fn are_found(slips: &[Slip], problem: &Op) -> Result {
    slips.iter().try_for_each(|slip| is_found(*slip, problem))
}

#[test]
fn slips_in_the_matrices_are_found() -> Result {
    let weights = Synthesise {
        blocks: 40,
        seed: 3,
        tensor: 4,
        d: 2e-4,
    };
    let synthesise = [
        (
            "synthesise.cu",
            "mins[0] | (mins[1] >> 4",
            "mins[0] | (mins[1] >> 5",
        ),
        ("synthesise.cu", "above % 3", "above % 2"),
    ];
    are_found(&synthesise, &ops::weights(weights))?;
    let table = Embed {
        format: Format::Q4K,
        tokens: 2,
        hidden: 512,
        scale: 1.5,
    };
    let embed = [
        ("embed.cu", "nibbles >> 4", "nibbles"),
        ("embed.cu", "__ldg(block), pair * 2", "__ldg(row), pair * 2"),
    ];
    are_found(&embed, &ops::embed(table, 3, SEED))?;
    let deep = Sizes {
        k: 8704,
        ods: 3,
        tokens: 1,
    };
    let matvec = [
        (
            "matvec.cu",
            "load_operand(rows[row]",
            "load_operand(rows[0]",
        ),
        ("matvec.cu", "super % kTileSupers", "super % kBatchSupers"),
        ("matvec.cu", "{act.z, act.w}", "{act.z, act.y}"),
    ];
    are_found(&matvec, &ops::matvec(deep, SEED))?;
    let sizes = Sizes {
        k: 36,
        ods: 70,
        tokens: 3,
    };
    let matmul = [
        (
            "matmul_f32.cu",
            "w_slice.load(k0 + kDepth, k)",
            "w_slice.load(k0, k)",
        ),
        ("matmul_f32.cu", "inside && at < k / 4", "inside"),
    ];
    are_found(&matmul, &ops::matmul_f32(sizes, SEED))
}

#[test]
fn slips_in_the_vectors_are_found() -> Result {
    let norm = [
        ("rms_norm.cu", "__fadd_rn(mean, eps)", "mean"),
        (
            "transformer.cuh",
            "sum_of_lanes<kWarps>",
            "sum_of_lanes<kWarps / 2>",
        ),
    ];
    let tiny = RmsNorm { eps: 0.5, ..NORM };
    are_found(&norm, &ops::rms_norm(tiny, SEED))?;
    let rope = [
        ("rope.cu", "-__fmul_rn(b", "__fmul_rn(b"),
        (
            "rope.cu",
            "(size_t(first_position) + blockIdx.x)",
            "size_t(first_position)",
        ),
    ];
    are_found(&rope, &ops::rope(ROPE, SEED))?;
    let glu = [
        ("transformer.cuh", "0x1.555492p-3f", "0x1.555492p-2f"),
        ("glu.cu", "0.044715f", "0.44715f"),
    ];
    are_found(&glu, &ops::pairwise(Pairwise::Geglu, 3000, SEED))?;
    let ties = ("argmax.cu", "b.index < a.index", "b.index > a.index");
    is_found(ties, &ops::argmax(Argmax::Ties, 3000, SEED))?;
    let nan = ("argmax.cu", "value == value ?", "true ?");
    is_found(nan, &ops::argmax(Argmax::Nan, 3000, SEED))
}

#[test]
fn slips_in_attention_are_found() -> Result {
    let many = [
        (
            "attention.cu",
            "key + 16 * j <= last",
            "key + 16 * j < last",
        ),
        (
            "attention.cu",
            "key + 16 * j > before",
            "key + 16 * j >= before",
        ),
        (
            "attention.cu",
            "times(state.out[i][part], shrink)",
            "state.out[i][part]",
        ),
        (
            "attention.cu",
            "head / (a.heads / a.kv_heads)",
            "head % a.kv_heads",
        ),
        ("attention.cu", "key_place(place.column, vector)", "vector"),
    ];
    let shape = seeing(HeadDim::D64, 70, 70, 9);
    are_found(&many, &ops::attention(shape, SEED))?;
    let one = [
        (
            "attention_decode.cu",
            "first + i <= last",
            "first + i < last",
        ),
        (
            "attention_decode.cu",
            "__fsub_rn(found.most[g], most)",
            "__fsub_rn(most, most)",
        ),
        (
            "attention_decode.cu",
            "max(position - window + 1, 0)",
            "max(position - window, 0)",
        ),
    ];
    let shape = seeing(HeadDim::D128, 1, 90, 77);
    are_found(&one, &ops::attention(shape, SEED))
}
