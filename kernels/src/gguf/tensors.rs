//! The list of tensors in a header: sizes that do not overflow, places that do not overlap.

use std::io::Read;

use super::GgufError;
use super::cursor::Cursor;
use super::header::TensorInfo;
use super::kind::TensorType;
use super::shown::Shown;

/// The longest name of a tensor, bytes; the format's own limit.
const NAME_LIMIT: u64 = 64;
/// The most dims of a tensor; the format's own limit.
const DIMS_LIMIT: u32 = 4;
/// The least that an info takes: a name's length, the count of dims, one dim, type, offset, bytes.
pub(super) const LEAST_INFO: u64 = 8 + 4 + 8 + 4 + 8;

/// Reads the infos, and checks their places once it is known where the tensors begin.
pub(super) fn read<R: Read>(
    cursor: &mut Cursor<R>,
    count: u64,
    alignment: u64,
) -> Result<Vec<TensorInfo>, GgufError> {
    let mut tensors = Vec::new();
    for n in 0..count {
        tensors.push(info(cursor, n)?);
    }
    tensors.sort_by(|a, b| (&a.name, a.at).cmp(&(&b.name, b.at)));
    if let Some([_, again]) = tensors.array_windows().find(|[a, b]| a.name == b.name) {
        return Err(invalid(again, "is there twice".to_owned()));
    }
    let begin = cursor.at().next_multiple_of(alignment);
    for tensor in &mut tensors {
        place(tensor, begin, alignment, cursor.len())?;
    }
    apart(&tensors)?;
    Ok(tensors)
}

fn invalid(tensor: &TensorInfo, problem: String) -> GgufError {
    GgufError::Invalid {
        field: format!("the info of tensor `{}`", Shown(&tensor.name)),
        at: tensor.at,
        problem,
    }
}

/// Reads one info; `begin` is still the offset from where the tensors begin.
fn info<R: Read>(cursor: &mut Cursor<R>, n: u64) -> Result<TensorInfo, GgufError> {
    let at = cursor.at();
    let name = cursor.string(format_args!("the name of tensor {n}"), NAME_LIMIT)?;
    let shown = Shown(&name);
    let dims = dims(cursor, shown)?;
    let mut tensor = TensorInfo {
        kind: kind(cursor, shown)?,
        begin: cursor.u64(format_args!("the offset of tensor `{shown}`"))?,
        name,
        dims,
        values: 0,
        bytes: 0,
        at,
    };
    let product = |all: u64, dim: &u64| all.checked_mul(*dim);
    let values = tensor.dims.iter().try_fold(1, product);
    tensor.values = values
        .filter(|values| i64::try_from(*values).is_ok())
        .ok_or_else(|| invalid(&tensor, format!("dims {:?} overflow", tensor.dims)))?;
    let block = tensor.kind.block_values();
    if !tensor.dims[0].is_multiple_of(block) {
        let problem = format!(
            "rows of {} values are no whole blocks of {}, which have {block}",
            tensor.dims[0], tensor.kind
        );
        return Err(invalid(&tensor, problem));
    }
    tensor.bytes = tensor
        .kind
        .bytes(tensor.values)
        .ok_or_else(|| invalid(&tensor, format!("dims {:?} overflow", tensor.dims)))?;
    Ok(tensor)
}

fn dims<R: Read>(cursor: &mut Cursor<R>, name: Shown<'_>) -> Result<Vec<u64>, GgufError> {
    let at = cursor.at();
    let bad = |at, problem| GgufError::Invalid {
        field: format!("the dims of tensor `{name}`"),
        at,
        problem,
    };
    let count = cursor.u32(format_args!("the count of dims of tensor `{name}`"))?;
    if !(1..=DIMS_LIMIT).contains(&count) {
        return Err(bad(at, format!("{count} of them, not 1 to {DIMS_LIMIT}")));
    }
    let mut dims = Vec::new();
    for d in 0..count {
        let at = cursor.at();
        let dim = cursor.u64(format_args!("dim {d} of tensor `{name}`"))?;
        if dim == 0 {
            return Err(bad(at, format!("dim {d} is 0")));
        }
        dims.push(dim);
    }
    Ok(dims)
}

fn kind<R: Read>(cursor: &mut Cursor<R>, name: Shown<'_>) -> Result<TensorType, GgufError> {
    let at = cursor.at();
    let id = cursor.u32(format_args!("the type of tensor `{name}`"))?;
    TensorType::find(id).ok_or_else(|| GgufError::Unsupported {
        what: format!("the type of tensor `{name}` at byte {at},"),
        found: format!("{} ({id})", TensorType::name_of(id)),
        supported: TensorType::names(),
    })
}

/// Turns the offset into a place in the file, and refuses one that is none.
fn place(tensor: &mut TensorInfo, begin: u64, alignment: u64, len: u64) -> Result<(), GgufError> {
    let offset = tensor.begin;
    if !offset.is_multiple_of(alignment) {
        let problem = format!("offset {offset} is no multiple of the alignment, {alignment}");
        return Err(invalid(tensor, problem));
    }
    let place = begin.checked_add(offset);
    let end = place.and_then(|place| place.checked_add(tensor.bytes));
    match (place, end) {
        (Some(place), Some(end)) if end <= len => {
            tensor.begin = place;
            Ok(())
        }
        _ => Err(GgufError::Truncated {
            field: format!("tensor `{}`", Shown(&tensor.name)),
            at: place.unwrap_or(u64::MAX),
            needs: tensor.bytes,
            left: len.saturating_sub(place.unwrap_or(u64::MAX)),
        }),
    }
}

fn apart(tensors: &[TensorInfo]) -> Result<(), GgufError> {
    let mut order: Vec<&TensorInfo> = tensors.iter().collect();
    order.sort_by_key(|tensor| tensor.begin);
    let overlap = order
        .array_windows()
        .find(|[a, b]| a.begin + a.bytes > b.begin);
    match overlap {
        None => Ok(()),
        Some([a, b]) => Err(invalid(
            b,
            format!("its bytes overlap those of tensor `{}`", Shown(&a.name)),
        )),
    }
}
