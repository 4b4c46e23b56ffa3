//! Rounding that does not change how a number compares.

/// Beyond this many decimals a number is shown in full.
const MOST_DECIMALS: usize = 9;

/// The number with at least `decimals` decimals, and with so many that it compares with every
/// limit as the exact number does: 9.9996 beside 10 keeps its four.
pub(super) fn faithful(value: f64, decimals: usize, limits: &[f64]) -> String {
    // There is one zero for people.
    let value = if value == 0.0 { 0.0 } else { value };
    let agrees = |text: &str| {
        text.parse().is_ok_and(|shown: f64| {
            limits
                .iter()
                .all(|limit| shown.partial_cmp(limit) == value.partial_cmp(limit))
        })
    };
    (decimals..=decimals.max(MOST_DECIMALS))
        .map(|d| format!("{value:.d$}"))
        .find(|text| agrees(text))
        // The shortest text that reads back as exactly this number.
        .unwrap_or_else(|| value.to_string())
}
