#!/usr/bin/env python3
"""Times cuBLAS's int8 product (cublasLt, s8 x s8 -> s32, through torch) at the shape of q_proj.

Prints a line of CSV as scripts/gpu-peaks.cu does. The operands rotate beyond the L2 cache. cublasLt
wants tokens in multiples of eight: 2,632 in place of 2,630.
"""
import torch

TOKENS, K, ODS, SETS = 2632, 3584, 3584, 12


def operand(rows, columns):
    return torch.randint(-127, 128, (rows, columns), dtype=torch.int8, device="cuda")


acts = [operand(TOKENS, K) for _ in range(SETS)]
# Weights as they lie: one output row after the other.
weights = [operand(ODS, K).t() for _ in range(SETS)]


def microseconds():
    start, end = torch.cuda.Event(True), torch.cuda.Event(True)
    start.record()
    for a, w in zip(acts, weights):
        torch._int_mm(a, w)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) * 1000 / SETS


for _ in range(3):
    microseconds()
times = sorted(microseconds() for _ in range(15))
median = times[len(times) // 2]
print(f"cublasLt s8 x s8 -> s32 at q_proj,{2 * TOKENS * K * ODS / median / 1e6:.1f},TOPS")
