"""The test that the report names, two hundred times: float bags with sparse and with dense gradients against double."""

import sys

import torch

worst = [0.0, 0.0]
for seed in range(200):
    torch.manual_seed(seed)
    words, width, bags, length = torch.randint(1, 100, (4,)).tolist()
    tokens, starts = torch.randint(0, words, (bags * length,)), torch.arange(0, bags * length, length)
    slope = torch.rand(bags, width)

    def gradient(kind, sparse):
        weight = torch.zeros(words, width, dtype=kind, requires_grad=True)
        out = torch.nn.functional.embedding_bag(tokens, weight, starts, mode="sum", sparse=sparse)
        found = torch.autograd.grad(out, weight, slope.to(kind))[0]
        return found.to_dense().double() if sparse else found.double()

    truth = gradient(torch.double, sparse=False)
    for place, sparse in enumerate((False, True)):
        wrong = float((gradient(torch.float, sparse=sparse) - truth).abs().max() / truth.abs().max())
        worst[place] = max(worst[place], wrong)
print("largest relative error: dense %.2g, sparse %.2g" % tuple(worst))
sys.exit(int(worst[1] > 2 * worst[0]))
