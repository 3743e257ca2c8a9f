"""TRL's output layer on a CPU: only tokens that are learnt are scored, a tile of the vocabulary at a time.

TRL 1.16 leaves out the others where it has Triton, and elsewhere scores every position, because some compilers dislike
shapes that change. On a CPU that is most of the time of a step, and gigabytes: a prompt is three quarters of a
transcript, and a vocabulary has 49,152 entries. And where it has no Triton it goes a dozen times over tiles of 60 MB,
each pass in memory that the system has to clear first; here tiles stay in the cache and are changed in place. Losses
and gradients are the same (tested).
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from agro_train.language_model.hooks import check_hooks

if TYPE_CHECKING:
    import torch

TILE = 4_096  # entries of the vocabulary that are scored at a time


def score_only_what_is_learnt() -> None:
    """Make TRL's fused head leave out ignored positions on every device, and be quick on a CPU: for the whole process
    and for good. Can be called again.

    Raises `ConfigError` in a release of TRL that does this otherwise: then look whether this module can go.
    """
    import trl.trainer.utils as trl_utils  # noqa: PLC0415

    check_hooks(trl_utils, "_use_triton", "_ChunkedLogProbFunction")
    trl_utils._use_triton = _always
    trl_utils._ChunkedLogProbFunction = Head


def _always(device: Any) -> bool:
    return True


class Head:
    """Stands for TRL's function. What is not asked of it here, TRL does itself."""

    @staticmethod
    def apply(
        hidden: torch.Tensor,
        weight: torch.Tensor,
        bias: torch.Tensor | None,
        targets: torch.Tensor,
        temperature: float,
        chunk_size: int,
        softcap: float | None = None,
        scale: float = 1.0,
        outputs: tuple[str, ...] = (),
    ) -> Any:
        """Log-probabilities (tokens,) of `targets` by `hidden` (tokens, d) and `weight` (vocabulary, d), and of the
        entropy, log(sum p^2), the mean logit and whether the target is the likeliest those that `outputs` names."""
        from trl.kernels import ChunkedLogProbFunction  # noqa: PLC0415

        ours = hidden.device.type == "cpu" and bias is None and softcap is None and {*outputs} <= _GIVEN
        if not ours:
            rest = (bias, targets, temperature, chunk_size, softcap, scale, outputs)
            return ChunkedLogProbFunction.apply(hidden, weight, *rest)
        log_probs, entropy, is_top1 = _scored().apply(hidden, weight, targets, scale / temperature)
        return (
            log_probs,
            entropy if "entropy" in outputs else None,
            None,
            None,
            is_top1 if "is_top1" in outputs else None,
        )


_GIVEN = {"log_probs", "entropy", "is_top1"}


@cache
def _scored() -> Any:
    import torch  # noqa: PLC0415

    class Scored(torch.autograd.Function):
        """Log-probability, entropy (no gradient) and whether nothing is likelier, of each target."""

        @staticmethod
        def forward(
            ctx: Any, hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor, scale: float
        ) -> tuple[torch.Tensor, ...]:
            ctx.kind = torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else hidden.dtype
            ctx.scale = scale
            highest, sums, weighted = [], [], []
            target = hidden.new_zeros(len(targets), dtype=torch.float32)
            given = hidden.to(ctx.kind)
            for start, part in _tiles(weight, ctx.kind):
                z = torch.mm(given, part.t()).float().mul_(scale)
                rows, places = _inside(targets, start, len(part))
                target[rows] = z[rows, places]
                highest.append(z.amax(-1))
                shares = z.sub(highest[-1].unsqueeze(-1)).exp_()
                sums.append(shares.sum(-1))
                weighted.append(shares.mul_(z).sum(-1))
            tops = torch.stack(highest)
            top = tops.amax(0)
            factors = (tops - top).exp_()
            total = (torch.stack(sums) * factors).sum(0)
            log_z = top + total.log()
            entropy = log_z - (torch.stack(weighted) * factors).sum(0) / total
            is_top1 = target >= top
            ctx.save_for_backward(hidden, weight, targets, log_z)
            ctx.mark_non_differentiable(entropy, is_top1)
            return target - log_z, entropy, is_top1

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor, *_: Any) -> tuple[torch.Tensor | None, ...]:
            hidden, weight, targets, log_z = ctx.saved_tensors
            learns = ctx.needs_input_grad[1]
            of_hidden = torch.zeros(hidden.shape, dtype=torch.float32)
            of_weight = torch.empty_like(weight) if learns else None
            given, gradient = hidden.to(ctx.kind), gradient.float() * ctx.scale
            for start, part in _tiles(weight, ctx.kind):
                z = torch.mm(given, part.t()).float().mul_(ctx.scale)
                z.sub_(log_z.unsqueeze(-1)).exp_().mul_(-gradient.unsqueeze(-1))
                rows, places = _inside(targets, start, len(part))
                z[rows, places] += gradient[rows]
                each = z.to(ctx.kind)
                of_hidden += torch.mm(each, part)
                if of_weight is not None:
                    of_weight[start : start + len(part)] = torch.mm(each.t(), given)
            return of_hidden.to(hidden.dtype), of_weight, None, None

    return Scored


def _tiles(weight: torch.Tensor, kind: torch.dtype) -> Any:
    """Parts of the vocabulary with where they begin."""
    for start in range(0, weight.shape[0], TILE):
        yield start, weight[start : start + TILE].to(kind)


def _inside(targets: torch.Tensor, start: int, size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Rows whose target lies in a tile, and where."""
    rows = ((targets >= start) & (targets < start + size)).nonzero(as_tuple=True)[0]
    return rows, targets[rows] - start
