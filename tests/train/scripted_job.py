"""A job whose one asset runs a scripted child: what a training asset does, without a model. See `test_child.py`."""

import os
import sys
from pathlib import Path

import dagster as dg

from agro_train.defs.child import TERMINATION, run_child


@dg.asset
def scripted_model(context: dg.AssetExecutionContext, pipes: dg.PipesSubprocessClient) -> dg.MaterializeResult:
    """Runs `$SCRIPT FOLDER`, which plays a training program of the model in that folder."""
    script = Path(os.environ["SCRIPT"])
    ends = (0, int(os.environ.get("ENDS_WITH", "0")))
    run_child(context, pipes, [sys.executable, str(script), str(script.parent)], metrics=script.parent, ends=ends)
    return dg.MaterializeResult()


defs = dg.Definitions(
    assets=[scripted_model],
    jobs=[dg.define_asset_job("scripted", [scripted_model], executor_def=dg.in_process_executor)],
    resources={"pipes": dg.PipesSubprocessClient(termination_timeout_seconds=TERMINATION)},
)
