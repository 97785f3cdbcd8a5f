"""A call as the function that gives its gradients, so that the backward can be taken through layouts as any call."""

from __future__ import annotations

from typing import Any, Callable, List

import torch

from torch_embers.oracles.repeat import mapped, tensors_in

WEIGHTS = "embers_weights"
"""Keyword by which a call for gradients is given the gradients of the results."""


def counted(tensor: Any) -> Any:
    """Weights 1, 2, 3 ... 7 again and again in the shape of a tensor."""
    return (torch.arange(tensor.numel(), device=tensor.device) % 7 + 1).reshape(tensor.shape).to(tensor.dtype)


def real_results(value: Any) -> List[Any]:
    """The results that may have a gradient."""
    return [tensor for tensor in tensors_in([value]) if tensor.is_floating_point() or tensor.is_complex()]


def gradients(call: Callable[..., Any]) -> Callable[..., Any]:
    """A function that gives the gradients of all floating arguments, from weights of the results."""

    def run(*args: Any, **kwargs: Any) -> List[Any]:
        weights = kwargs.pop(WEIGHTS)
        leaves: List[Any] = []

        def leaf(tensor: Any) -> Any:
            if not (tensor.is_floating_point() or tensor.is_complex()):
                return tensor
            leaves.append(tensor.detach().requires_grad_())
            return leaves[-1]

        new_args, new_kwargs = mapped([list(args), kwargs], leaf)
        results = real_results(call(*new_args, **new_kwargs))
        pairs = [(result, weight) for result, weight in zip(results, weights) if result.requires_grad]
        ends, starts = [result for result, _ in pairs], [weight for _, weight in pairs]
        grads = torch.autograd.grad(ends, leaves, starts, allow_unused=True)
        return [grad for grad in grads if grad is not None]

    return run
