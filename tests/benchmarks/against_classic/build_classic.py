"""Builds programs of the corpus with the TVM of the interpreter that runs this: ``FOLDER TARGET NAME…``.

Prints one line of JSON for each: the library, or an error.
"""

import json
import sys
from pathlib import Path

import tvm
import tvm.te
import tvm.topi

sys.path.insert(0, str(Path(__file__).parent))
from corpus import PROGRAMS

folder, target = Path(sys.argv[1]), sys.argv[2]
for name in sys.argv[3:]:
    try:
        schedule, args = PROGRAMS[name](tvm)
        path = folder / f"{name.replace(' ', '_')}.classic.so"
        tvm.build(schedule, args, target, name="run").export_library(str(path))
        print(json.dumps({"library": str(path)}), flush=True)
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"[:300]}), flush=True)
