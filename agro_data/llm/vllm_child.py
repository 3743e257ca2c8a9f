"""The process that holds a vLLM engine: requests come in as lines of JSON, completions go out as they are finished.

Started by `vllm_engine.VllmEngine` in a session of its own, which ends with it: when its input is closed, by whatever
end of the parent, the whole group goes, the engine's own processes included. Memory of a GPU is free again only then.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from typing import IO, Any

from agro_data.llm.rendering import prompt_ids
from agro_data.llm.types import Completion, Request, Usage, failed, request_of


def main() -> None:
    """Load the model that the first argument tells of, say so, and serve until the input ends."""
    settings = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what the engine prints is no answer
    from vllm import LLM  # noqa: PLC0415

    coming: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(coming,), daemon=True).start()
    engine = LLM(model=settings["model"], revision=settings["revision"] or None, **settings["engine"])
    _say(answers, {"ready": True})
    serve(engine, coming, answers, settings["template"])


def serve(engine: Any, coming: queue.SimpleQueue[dict[str, Any]], answers: IO[str], template: dict[str, Any]) -> None:
    """Hand requests to the engine as they come, so that its batches are never waited for to be empty."""
    from vllm.exceptions import VLLMClientError  # noqa: PLC0415

    tokenizer, core = engine.get_tokenizer(), engine.llm_engine
    while True:
        while not coming.empty() or not core.has_unfinished_requests():
            one = coming.get()
            request = request_of(one["request"])
            try:
                ids = prompt_ids(request.messages, tokenizer, template)
                core.add_request(one["id"], {"prompt_token_ids": ids}, parameters(request))
            except (ValueError, VLLMClientError) as error:  # too long, or a schema that the engine cannot hold it to
                _say(answers, {"id": one["id"], "completion": failed("refused", str(error)).to_dict()})
        for output in core.step():
            if output.finished:
                _say(answers, {"id": output.request_id, "completion": completion_of(output).to_dict()})


def parameters(request: Request) -> Any:
    """vLLM's `SamplingParams` of a request."""
    from vllm import SamplingParams  # noqa: PLC0415
    from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams  # noqa: PLC0415

    sampling = request.sampling
    held = None if request.schema is None else StructuredOutputsParams(json=json.loads(request.schema))
    return SamplingParams(
        temperature=sampling.temperature,
        top_p=sampling.top_p,
        max_tokens=sampling.max_tokens,
        stop=list(sampling.stop),
        seed=request.seed,
        logprobs=0 if sampling.logprobs else None,
        structured_outputs=held,
        output_kind=RequestOutputKind.FINAL_ONLY,
    )


def completion_of(output: Any) -> Completion:
    """The completion of a finished `RequestOutput`."""
    one = output.outputs[0]
    if one.finish_reason not in ("stop", "length"):
        return failed("server_error", f"the engine ended it with {one.finish_reason!r}")
    logprobs = None
    if one.logprobs is not None:
        pairs = zip(one.token_ids, one.logprobs, strict=True)
        logprobs = tuple((str(at[token].decoded_token), float(at[token].logprob)) for token, at in pairs)
    usage = Usage(len(output.prompt_token_ids), len(one.token_ids))
    return Completion(one.text, one.finish_reason == "length", usage, logprobs)


def _listen(coming: queue.SimpleQueue[dict[str, Any]]) -> None:
    for line in sys.stdin:
        coming.put(json.loads(line))
    os.killpg(0, signal.SIGKILL)


def _say(answers: IO[str], said: dict[str, Any]) -> None:
    answers.write(json.dumps(said) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
