#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants each kind of fault in a small tree and expects tools/check_edges to name it, and nothing else."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "check_edges"


def load_tool():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("check_edges", str(TOOL))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_edges", loader))
    loader.exec_module(module)
    return module


check_edges = load_tool()

SPDX = "// SPDX-License-Identifier: Apache-2.0\n"
HEADER = SPDX + "#pragma once\n"
SOUND = {
    "src/base/id.h": HEADER,
    "src/base/id.cc": SPDX + '#include "base/id.h"\n\n#include <vector>\n',
    "src/base/check.cc": SPDX + "#include <cstdio>\n",
    "src/model/job.h": HEADER + '#include "base/id.h"\n',
    "src/engine/engine.h": HEADER + '#include "engine/explain/explanation.h"\n#include "model/job.h"\n',
    "src/engine/engine.cc": SPDX + '#include "engine/engine.h"\n\n#include "engine/placement/place.h"\n',
    "src/engine/explain/explanation.h": HEADER + '#include "engine/state/view.h"\n',
    "src/engine/state/view.h": HEADER,
    "src/engine/capacity/index.h": HEADER + '#include "engine/state/view.h"\n',
    "src/engine/placement/place.h": HEADER + '#include "engine/capacity/index.h"\n',
    "src/engine/queueing/order.h": HEADER + "// never iterated\nstd::unordered_map<int, int> rows;\n",
    "src/format/json.h": HEADER + '#include "model/job.h"\n\n#include <boost/json.hpp>\n#include <fstream>\n',
    "src/sim/simulator.h": HEADER + '#include "engine/engine.h"\n',
    "src/cli/run.h": HEADER + '#include "format/json.h"\n#include "sim/simulator.h"\n',
    "src/main.cc": SPDX + '#include "cli/run.h"\n',
    "test/base/id_test.cc": SPDX + "#include <gtest/gtest.h>\n",
    "tools/build": "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n",
}


def faults_of(changes):
    with tempfile.TemporaryDirectory(prefix="check edges ") as folder:
        root = pathlib.Path(folder)
        for name, text in {**SOUND, **changes}.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        return check_edges.Checker(root).check()


def function_of(lines):
    return "void F(int a) {\n" + "  a = 1;\n" * (lines - 2) + "}\n"


# name, file, its text, the one fault expected
PLANTED = [
    ("an edge that points up", "src/base/id.h", HEADER + '#include "model/job.h"\n',
     "src/base/id.h:3: base may not include model: the edge points up"),
    ("the engine including a body", "src/engine/state/view.h", HEADER + '\n#include "sim/simulator.h"\n',
     "src/engine/state/view.h:4: engine may not include sim: the edge points up"),
    ("siblings", "src/sim/simulator.h", HEADER + '#include "format/json.h"\n',
     "src/sim/simulator.h:3: sim may not include format: rooms of one layer are apart"),
    ("siblings inside the engine", "src/engine/queueing/order.h", HEADER + '#include "engine/placement/place.h"\n',
     "src/engine/queueing/order.h:3: queueing may not include placement: rooms of one layer are apart"),
    ("up inside the engine", "src/engine/state/view.h", HEADER + '#include "engine/capacity/index.h"\n',
     "src/engine/state/view.h:3: state may not include capacity: the edge points up"),
    ("a room of the engine including its face", "src/engine/capacity/index.h", HEADER + '#include "engine/engine.h"\n',
     'src/engine/capacity/index.h:3: "engine/engine.h" is above the rooms of the engine'),
    ("past the engine's face", "src/sim/simulator.h", HEADER + '#include "engine/capacity/index.h"\n',
     'src/sim/simulator.h:3: "engine/capacity/index.h" is inside the engine; include engine/engine.h'),
    ("an unknown room", "src/shed/tool.h", HEADER + '#include "base/id.h"\n',
     "src/shed/tool.h:3: no room 'shed' in ARCHITECTURE.md; see LAYERS in tools/check_edges"),
    ("a missing header", "src/sim/simulator.h", HEADER + '#include "simulator2.h"\n',
     'src/sim/simulator.h:3: "simulator2.h" does not exist below src/; paths start there'),
    ("a file in the engine", "src/engine/state/view.h", HEADER + "#include <fstream>\n",
     "src/engine/state/view.h:3: <fstream>: engine is pure and may not use files"),
    ("a clock in the model", "src/model/job.h", HEADER + "#include <chrono>\n",
     "src/model/job.h:3: <chrono>: model is pure and may not use a clock"),
    ("a thread in base", "src/base/id.h", HEADER + "#include <mutex>\n",
     "src/base/id.h:3: <mutex>: base is pure and may not use threads"),
    ("stdio outside check.cc", "src/base/id.h", HEADER + "#include <cstdio>\n",
     "src/base/id.h:3: <cstdio>: base is pure and may not use logging"),
    ("the environment", "src/engine/state/view.h", HEADER + 'auto* home = getenv("HOME");\n',
     "src/engine/state/view.h:3: getenv: engine is pure"),
    ("a library outside its room", "src/sim/simulator.h", HEADER + "#include <boost/json.hpp>\n",
     "src/sim/simulator.h:3: <boost/json.hpp> may be included in src/format only; use that room's own types"),
    ("a test library in the product", "src/sim/simulator.h", HEADER + "#include <gtest/gtest.h>\n",
     "src/sim/simulator.h:3: <gtest/gtest.h> may be included in test only; use that room's own types"),
    ("floating point in the engine", "src/engine/state/view.h", HEADER + "double share = 0;\n",
     "src/engine/state/view.h:3: no floating point in the engine: amounts and shares are integers"),
    ("an unordered container", "src/engine/queueing/order.h", HEADER + "std::unordered_set<int> rows;\n",
     "src/engine/queueing/order.h:3: no unordered container in the engine, its order could reach a decision; "
     "if that cannot be, say `never iterated` in a comment"),
    ("no licence", "src/sim/simulator.h", '#pragma once\n#include "engine/engine.h"\n',
     "src/sim/simulator.h:1: no line `SPDX-License-Identifier: Apache-2.0` at the top"),
    ("a script without licence", "tools/build", "#!/bin/sh\n",
     "tools/build:1: no line `SPDX-License-Identifier: Apache-2.0` at the top"),
    ("no pragma once", "src/sim/simulator.h", SPDX + '#include "engine/engine.h"\n',
     "src/sim/simulator.h:1: a header without #pragma once"),
    ("own header second", "src/base/id.cc", SPDX + '#include <vector>\n\n#include "base/id.h"\n',
     'src/base/id.cc:2: the first include must be "base/id.h"'),
    ("a long function", "src/sim/run.cc", SPDX + "namespace a {\n" + function_of(71) + "}\n",
     "src/sim/run.cc:3: a function of 71 lines; at most 70"),
    ("a long member function", "src/sim/run.cc", SPDX + "class C {\n int x_;\n" + function_of(71) + "};\n",
     "src/sim/run.cc:4: a function of 71 lines; at most 70"),
    ("a long constructor", "src/sim/run.cc", SPDX + "C::C(int a) : x_{a}, y_(a) {\n" + "a = 1;\n" * 70 + "}\n",
     "src/sim/run.cc:2: a function of 72 lines; at most 70"),
    ("a long file", "src/sim/run.cc", SPDX + "int x;\n" * 600, "src/sim/run.cc:600: 601 lines; a file has at most 600"),
    ("a sleeping test", "test/base/id_test.cc", SPDX + "std::this_thread::sleep_for(x);\n",
     "test/base/id_test.cc:2: a test may not sleep"),
]

# name, file, its text: looks like a fault and is none
INNOCENT = [
    ("words in comments and strings", "src/engine/state/view.h",
     HEADER + '// a double unordered_map<> getenv\nauto x = "double"; /* float\n double */\n'),
    ("functions of 70 lines", "src/sim/run.cc", SPDX + function_of(70) * 3),
    ("braces in strings and characters", "src/sim/run.cc", SPDX + "void F() { g('{', \"{{\", '\\''); }\n" + function_of(70)),
    ("a long table", "src/sim/run.cc", SPDX + "const Row kRows[] = {\n" + "  {1, Make(2)},\n" * 90 + "};\n"),
    ("a long class", "src/sim/run.cc", SPDX + "class C {\n" + "  int F() { return 1; }\n" * 90 + "};\n"),
    ("digit separators", "src/sim/run.cc", SPDX + "int F() { return 1'000'000; }\n" + function_of(70)),
    ("main may include everything", "src/main.cc", SPDX + '#include "engine/capacity/index.h"\n'),
]


class CheckEdgesTest(unittest.TestCase):
    def test_sound_tree(self):
        self.assertEqual(faults_of({}), [])

    def test_planted_faults(self):
        for name, path, text, fault in PLANTED:
            with self.subTest(name):
                self.assertEqual(faults_of({path: text}), [fault])

    def test_innocent_text(self):
        for name, path, text in INNOCENT:
            with self.subTest(name):
                self.assertEqual(faults_of({path: text}), [])


if __name__ == "__main__":
    unittest.main()
