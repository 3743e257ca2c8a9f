# Source this (`source env.sh`): the virtual environment, and what makes the bare `dagster job execute -j JOB` work.
# `dagster job execute` reads neither pyproject.toml nor .env, so the module's name must be in the environment.
_agro_root="$(cd "$(dirname "${BASH_SOURCE[0]:-${(%):-%x}}")" && pwd)"
# shellcheck disable=SC1091
[ -f "$_agro_root/.venv/bin/activate" ] && . "$_agro_root/.venv/bin/activate"
export DAGSTER_HOME="${DAGSTER_HOME:-$_agro_root/dagster_home}"
export DAGSTER_MODULE_NAME="${DAGSTER_MODULE_NAME:-agro_train.definitions}"
export AGRO_ROOT="$_agro_root"
# With that variable `dg dev` starts a web server that refuses its arguments and hangs without a word; dg reads
# pyproject.toml and needs no variable.
dg() { env -u DAGSTER_MODULE_NAME dg "$@"; }
# A sensor reads the databases that have changed, which may take longer than the minute that Dagster gives it.
export DAGSTER_SENSOR_GRPC_TIMEOUT_SECONDS="${DAGSTER_SENSOR_GRPC_TIMEOUT_SECONDS:-3600}"
# `dagster job execute` works and will: Dagster's advice to use another one is not news on each run.
export PYTHONWARNINGS="${PYTHONWARNINGS:+$PYTHONWARNINGS,}ignore:Function \`job_execute_command\` is superseded"
unset _agro_root
