//! Greedy-32 notices one wrong scale in one super-block: the tiny model as the harness runs it.

use super::*;
use crate::mmq::blocks::Q4_BYTES;

/// What is done to a super-block.
#[derive(Debug, Clone, Copy)]
enum Slip {
    /// Its `d` is twice as large.
    D,
    /// A bit of one of its eight 6-bit scales is the other one.
    Scale,
}

impl Slip {
    fn make(self, block: &mut [u8]) {
        match self {
            Slip::D => {
                let d = half::f16::from_le_bytes([block[0], block[1]]).to_f32();
                block[..2].copy_from_slice(&half::f16::from_f32(2.0 * d).to_le_bytes());
            }
            Slip::Scale => block[4] ^= 8,
        }
    }
}

const PROMPT: usize = 77;
const GREEDY: usize = 32;

struct Tiny {
    device: Host,
    stack: Stack,
    prompt: Vec<i32>,
}

impl Tiny {
    fn new() -> Tiny {
        let choice: ModelChoice = "tiny".parse().expect("there is one");
        let mut device = cpu::host();
        let mut source = choice.open().expect("it is right");
        let stack = Stack::new(&mut device, source.as_mut(), Tile::Wide8).expect("it is built");
        let prompt = prompt(0, PROMPT, stack.shape().vocabulary);
        Tiny {
            device,
            stack,
            prompt,
        }
    }

    fn says(&mut self) -> Vec<i32> {
        let said = self.stack.generate(&mut self.device, &self.prompt, GREEDY);
        said.expect("it runs")
    }

    /// What it says with a slip in one super-block of a tensor, chosen by hash; the slip is
    /// undone.
    fn says_with(&mut self, slip: Slip, name: TensorName) -> Vec<i32> {
        let matrix = self.stack.weights().find(name).expect("it has it");
        let blocks = matrix.dims.rows * matrix.dims.k / 256;
        let seed: u32 = name.to_string().bytes().map(u32::from).sum();
        let at = synthetic::hash(seed) as usize % blocks * Q4_BYTES;
        let content = self.device.content(matrix.buffer).expect("it is there");
        let block = &mut content[at..at + Q4_BYTES];
        let right = block.to_vec();
        slip.make(block);
        let said = self.says();
        let content = self.device.content(matrix.buffer).expect("it is there");
        content[at..at + Q4_BYTES].copy_from_slice(&right);
        said
    }
}

#[test]
fn one_wrong_scale_in_one_block_of_one_layer_changes_the_tokens() {
    use LayerTensor as L;
    let mut tiny = Tiny::new();
    let right = tiny.says();
    let slips = [
        (Slip::D, 0, L::Down),
        (Slip::D, 1, L::K),
        (Slip::D, 2, L::Gate),
        (Slip::D, 3, L::Output),
        (Slip::D, 4, L::Up),
        (Slip::D, 5, L::Q),
        (Slip::Scale, 0, L::V),
        (Slip::Scale, 2, L::Gate),
    ];
    let unnoticed: Vec<_> = slips
        .into_iter()
        .filter(|(slip, layer, tensor)| {
            tiny.says_with(*slip, TensorName::Layer(*layer, *tensor)) == right
        })
        .collect();
    assert!(unnoticed.is_empty(), "{unnoticed:?}");
    assert_eq!(tiny.says(), right, "without a slip it says the same again");
}
