//! Takes samples: the interleaved schedule, values from output, the harness client.
