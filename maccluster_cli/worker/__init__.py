"""Code that runs on a node inside a rank; it imports nothing else of maccluster.

Started as ``PYTHON -u -m maccluster_cli.worker SPEC.json`` with MLX_RANK and MLX_HOSTFILE set when there
is more than one rank, and with a stdin that stays open: its end is the end of the rank. ``recipe``
describes the spec, ``fault`` the exit statuses. Each line on stdout is an event with ``event``, ``rank``
and ``t`` (Unix time); everything else is on stderr:

start  host pid python mlx device world_size parameters trainable
data   sha256 entropy_floor_nats_per_byte examples_train examples_valid           (rank 0)
score  when ("before", "after") exact of loss; None is what the data cannot give    (rank 0)
step   step loss tokens tokens_per_s grad_norm lr step_s skipped                    (others: step step_s)
saved  path bytes sha256                                                            (rank 0)
done   steps first_loss final_loss score_before score_after tokens wall_s peak_memory_bytes
error  kind message hint
"""
