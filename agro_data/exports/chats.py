"""Conversations: TRL's supervised fine-tuning, and OpenAI's fine-tuning files."""

from __future__ import annotations

from agro_data.exports.material import ExportError, Form, LeftOut, Material, answers, counted, messages
from agro_data.files import json_lines
from agro_data.profiling.serialising.serialise import estimate_tokens

FEWEST = 10  # examples of a training file that OpenAI takes
LONGEST = 65_536  # tokens of an example that its smaller chat models learn from; longer ones are cut there unasked
TOO_LONG = "longer than the {:,} tokens that are read"
LARGEST = 512 * 2**20  # bytes of a file that it takes


def sft(material: Material) -> Form:
    """`data/<split>.parquet` with conversational `prompt` and `completion`, as TRL's SFTTrainer reads them.

    The loss of such rows is on the completion alone. The other columns tell rows apart and are left aside by TRL.
    """
    columns = ["example_id", "db_id", "question", "sql", "hardness"]
    files = {
        f"data/{split}.parquet": rows.with_columns(answers(rows)).select(
            messages("prompt", "user", "prompt"), messages("answer", "assistant", "completion"), *columns
        )
        for split, rows in material.splits().items()
    }
    return Form(files, counted(material.rows))


def openai(material: Material) -> Form:
    """`train.jsonl`, `validation.jsonl` and `test.jsonl`: one `{"messages": [...]}` a line.

    Rows of more than `LONGEST` tokens (as `estimate_tokens` counts, a third of the characters) are left out. Raises
    `ExportError` when fewer than `FEWEST` rows are left to train on, or a file is larger than `LARGEST`.
    """
    files: dict[str, str] = {}
    written: dict[str, int] = {}
    left_out: list[LeftOut] = []
    for split, rows in material.splits().items():
        chats = []
        for row in rows.with_columns(answers(rows)).iter_rows(named=True):
            tokens = estimate_tokens(row["prompt"] + row["answer"])
            if tokens > LONGEST:
                left_out.append(LeftOut(row["example_id"], split, TOO_LONG.format(LONGEST), f"about {tokens:,}"))
                continue
            said = [{"role": "user", "content": row["prompt"]}, {"role": "assistant", "content": row["answer"]}]
            chats.append({"messages": said})
        if chats:
            files[f"{split}.jsonl"], written[split] = json_lines(chats), len(chats)
    _check(files)
    return Form(files, written, tuple(left_out))


def _check(files: dict[str, str]) -> None:
    examples = files.get("train.jsonl", "").count("\n")
    if examples < FEWEST:
        raise ExportError(f"{examples} examples to train on; OpenAI's fine-tuning takes at least {FEWEST}: build more")
    for name, text in files.items():
        size = len(text.encode())
        if size > LARGEST:
            raise ExportError(
                f"{name} would be {size / 2**20:,.0f} MiB; OpenAI takes {LARGEST / 2**20:,.0f}. Give a smaller --budget"
            )
