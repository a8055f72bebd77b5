"""Python under the sanitizers, whose runtime is loaded before it by LD_PRELOAD. What Python starts is not
preloaded: kiln's compiler has a limit of memory, which the runtime exceeds. Other Pythons are."""
import os
import subprocess
import sys

_PRELOAD = os.environ.pop("LD_PRELOAD", "")
_run = subprocess.run


def _run_with_runtime(command, *args, env=None, **keywords):
    if command[0] == sys.executable:
        env = dict(os.environ if env is None else env, LD_PRELOAD=_PRELOAD)
    return _run(command, *args, env=env, **keywords)


subprocess.run = _run_with_runtime
