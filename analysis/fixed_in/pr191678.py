"""Second derivatives of max pooling for a batch of directions at once, for channels-last inputs."""

import sys


def bug():
    """Whether the bug is there."""
    import torch

    torch.manual_seed(0)
    wrong = []
    for layout in (torch.contiguous_format, torch.channels_last):
        x = torch.randn(2, 3, 4, 4).contiguous(memory_format=layout).requires_grad_()
        out = torch.nn.functional.max_pool2d(x.square(), 2)
        (slope,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
        directions = torch.randn(3, *x.shape)
        alone = [torch.autograd.grad(slope, x, one, retain_graph=True)[0] for one in directions]
        try:
            (together,) = torch.autograd.grad(slope, x, directions, is_grads_batched=True, retain_graph=True)
            turned = directions.permute(0, 1, 3, 4, 2).contiguous().permute(0, 1, 4, 2, 3)
            (other,) = torch.autograd.grad(slope, x, turned, is_grads_batched=True)
        except RuntimeError as error:
            print(layout, str(error)[:150])
            return True
        wrong.append(
            not torch.allclose(together, torch.stack(alone), atol=1e-5)
            or not torch.allclose(other, together, atol=1e-5)
        )
    print(wrong)
    return any(wrong)


if __name__ == "__main__":
    try:
        code = int(bug())
    except Exception as error:
        print("cannot be tested here: %s: %s" % (type(error).__name__, str(error).partition("\n")[0]))
        code = 125
    sys.exit(code)
