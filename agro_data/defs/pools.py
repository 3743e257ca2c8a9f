"""What runs take turns at: a step of a pool waits for the others, `dagster_home/dagster.yaml` says how many may run."""

DATABASE = "database"  # queries in the source databases, by as many workers as the machine has cores
NETWORK = "network"  # what is sent to others
GPU = "gpu"  # models that are trained or asked
