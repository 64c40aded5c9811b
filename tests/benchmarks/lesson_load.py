"""A class that opens one lesson and edits, as users of Locust: against any server, also one far away.

    locust -f tests/benchmarks/lesson_load.py --headless -u 30 -r 6 -t 2m --host http://127.0.0.1:8000

needs ``pip install -e '.[load]'``.  Thirty students come within five seconds and edit every ten seconds.  Locust prints
the times by kind of request and fails where one was not answered as it should be; 95 % of the edits must be answered
within 2 s, else the exit status is 1.  ``python -m tests.benchmarks.classroom`` starts a server of its own, and has
attackers and ladders.
"""

from __future__ import annotations

import itertools

from locust import HttpUser, constant_pacing, events, task
from locust.env import Environment

from app.lessons.library import Library

LESSON = "vectorize"
SCRIPT = next(lesson.begins_with for lesson in Library(None).lessons if lesson.name == LESSON)
EDIT_SECONDS = 10
EDIT_BOUND_MILLISECONDS = 2000.0
_NUMBERS = itertools.count()


class Student(HttpUser):
    """Opens the lesson and edits its script, each time to something that nobody has compiled."""

    wait_time = constant_pacing(EDIT_SECONDS)

    def on_start(self) -> None:
        """Open the lesson."""
        self.number, self.edits = next(_NUMBERS), 0
        self.script = SCRIPT
        self.client.get(f"/learn/{LESSON}", name="lesson")

    @task
    def edit(self) -> None:
        """Compile the next version of the script."""
        self.edits += 1
        fields = {
            "script": f"{self.script}\n# edit {self.edits} of student {self.number}\n",
            "options": "{}",
            "uploads": "{}",
            "tab": f"tab of student {self.number}",
            "seq": str(self.edits),
        }
        with self.client.post("/panes", data=fields, name="edit", catch_response=True) as response:
            if response.ok and "✓ compiled" not in response.text:
                response.failure(f"not compiled: {response.text[:200]}")


@events.quitting.add_listener
def judge(environment: Environment, **_: object) -> None:
    """Set the exit status by the failures and by the times of the edits."""
    edits = environment.stats.get("edit", "POST")
    late = edits.num_requests == 0 or edits.get_response_time_percentile(0.95) > EDIT_BOUND_MILLISECONDS
    environment.process_exit_code = int(late or environment.stats.total.num_failures > 0)
