//! The whole model on a GPU: the same tokens from every tile and at every step, and the prefill.

use kernels::device::{Cuda, Device};
use kernels::mmq::Tile;
use kernels::model::synthetic::prompt;
use kernels::model::{ModelChoice, PrefillRequest, Stack};

use crate::common::Result;

/// Tokens of the prompt, and how many follow it.
const PROMPT: usize = 77;
const GREEDY: usize = 32;

/// The tiles whose kernels are loaded.
fn tiles(device: &mut Cuda) -> Vec<Tile> {
    let tiles = Tile::ALL.into_iter();
    tiles
        .filter(|tile| device.kernel(tile.kernel()).is_ok())
        .collect()
}

/// What the tiny model says after its prompt. Every tile that is loaded must say the same.
pub fn greedy(device: &mut Cuda) -> Result<Vec<i32>> {
    let mut said: Option<Vec<i32>> = None;
    for tile in tiles(device) {
        let mut source = "tiny".parse::<ModelChoice>()?.open()?;
        let mut stack = Stack::new(device, source.as_mut(), tile)?;
        let prompt = prompt(0, PROMPT, stack.shape().vocabulary);
        let tokens = stack.generate(device, &prompt, GREEDY)?;
        let again = stack.generate(device, &prompt, GREEDY)?;
        stack.free(device);
        println!("  tokens {tokens:?} ({tile:?})");
        if tokens != again {
            return Err(format!("{tile:?} says {again:?} the second time").into());
        }
        match &said {
            Some(said) if *said != tokens => {
                return Err(format!("{tile:?} says something else than {said:?}").into());
            }
            _ => said = Some(tokens),
        }
    }
    said.ok_or_else(|| "no tile's kernel is loaded".into())
}

/// The prefill of the 7B model, once for each tile of these that is loaded.
pub fn prefill(device: &mut Cuda, wanted: &[Tile]) -> Result {
    for tile in tiles(device) {
        if !wanted.contains(&tile) {
            continue;
        }
        let mut source = "qwen7b".parse::<ModelChoice>()?.open()?;
        let stack = Stack::new(device, source.as_mut(), tile)?;
        let request = PrefillRequest {
            seed: 0,
            warmup: 0,
            inner: 3,
        };
        let sample = stack.sample_prefill(device, request)?;
        stack.free(device);
        println!(
            "  prefill {tile:?}: {:.1} tok/s of {:?}; {} launches; the next token is {}",
            sample.value, sample.inner, sample.launches, sample.token
        );
    }
    Ok(())
}
