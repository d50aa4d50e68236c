"""The scenes that are played from nothing: every example, every format, every command."""

from __future__ import annotations

from playing import Scene

OWN = "tests/goldens/store-v6/project"
FORMATS = "tests/fixtures/formats"
SPECIFICATION = "tests/goldens/projects/specification"

SCENES = (
    Scene(
        "example-quick-start",
        "examples/quick-start",
        """
        validate suite.yaml
        list-suites
        run suite.yaml --dry-run
        run suite.yaml
        run suite.yaml --json -o report.json -o junit.xml
        > report.json
        > junit.xml
        run suite.yaml --verbose --target agent.py:answer --target null
        show @1
        show @1 short
        show @1 short --json
        runs
        runs --json
        compare @1 @4
        verify @1
        verify report.json
        gate report.json --gate staging
        run suite.yaml --failed
        """,
    ),
    Scene(
        "example-failing",
        "examples/failing",
        """
        run suite.yaml
        run suite.yaml --json
        run suite.yaml -o junit.xml
        > junit.xml
        show @1
        show @1 --json
        show @1 peru
        show @1 peru --json
        run suite.yaml --failed @1 --only peru
        run suite.yaml -j 1 --max-failures 2
        run suite.yaml --fail-under 0.4
        run suite.yaml --fail-under 90% --inconclusive fail
        run suite.yaml --gate production -o gated.xml
        > gated.xml
        gate @1 --fail-under 0.9 --json
        runs
        """,
    ),
    Scene(
        "example-changed",
        "examples/changed",
        """
        plan suite.yaml
        run suite.yaml --target agent.py:before --target agent.py:after
        baseline @1
        baseline list
        compare @1 @2
        compare @1 @2 --json
        compare @1 @2 --metric latency --metric score --margin 10
        regressions sums
        regressions sums --json -o regressions.json
        regressions sums --baseline-variant agent.py:before
        gate @2 --baseline default --strict-flips
        plan sums
        plan sums --json --effect 10
        run suite.yaml --target agent.py:after --baseline default -j 1
        verify @2
        trend sums
        trend sums --target agent.py:after --limit 1 -o trend.md
        > trend.md
        advise suite.yaml --goal reliable
        """,
    ),
    Scene("example-changed-json", "examples/changed", "run suite.yaml --target agent.py:after --json --limit 8"),
    Scene(
        "example-agent",
        "examples/agent",
        """
        validate suite.json
        run suite.json -j 1
        show @1 find-fix-check
        show @1 the-longest-word --json
        run suite.json --json --only boiling-point --only last-of-the-list -o junit.xml
        > junit.xml
        run suite.json --target oracle
        """,
    ),
    Scene(
        "example-prompts",
        "examples/prompts",
        """
        validate .
        list-suites
        run suite.yaml --dry-run
        run suite.yaml
        run suite.yaml --target small --json
        show @1 refund-for-a-crash
        regressions tickets --baseline-variant 'short · small'
        run suite.yaml --target oracle
        run suite.yaml --failed
        """,
    ),
    Scene(
        "formats-validated",
        FORMATS,
        """
        validate .
        validate . --json
        validate capability.yaml dataset.json native.yaml
        list-suites
        list-suites --json
        list-suites --register
        """,
    ),
    Scene(
        "formats-imported",
        FORMATS,
        """
        import capability.yaml
        import dataset.json
        import eval-suite.yaml
        import native.yaml
        import regression.json
        import rows.jsonl
        import session.json
        import task-suite.json
        import task-suite.yaml -o native-tasks.yaml
        > native-tasks.yaml
        """,
    ),
    Scene(
        "formats-run",
        FORMATS,
        """
        run capability.yaml --target oracle --var knot=bowline
        run capability.yaml --target null --var knot=bowline --json
        run capability.yaml --target oracle
        run dataset.json --target oracle
        run dataset.json --target oracle --json
        run eval-suite.yaml --target oracle --var tides_url=http://localhost --var knot=bowline -o junit.xml
        > junit.xml
        run native.yaml --target oracle
        run native.yaml --target echo --json
        run regression.json --target oracle --var tides_url=http://localhost
        run rows.jsonl --target oracle
        run session.json --target oracle
        run task-suite.json --target oracle
        run task-suite.json --target echo --json
        run task-suite.yaml
        runs
        """,
    ),
    Scene(
        "specification-validated",
        SPECIFICATION,
        """
        validate .
        validate eval-suite.yaml --json
        validate capability/string-processing.yaml
        validate capability/examples.yaml
        validate regression/users-endpoint.json
        validate regression/examples.yaml
        validate sessions
        validate sessions/count-files.json
        validate dataset.json
        validate task-suite.json
        validate eval-trigger.yaml
        validate graders.yaml
        validate phase.yaml
        list-suites
        import capability/examples.yaml
        import regression/users-endpoint.json
        import sessions/count-files.json
        """,
    ),
    Scene(
        "specification-run",
        SPECIFICATION,
        """
        run task-suite.json --target oracle
        run task-suite.json --target null --json
        run capability/string-processing.yaml --target oracle --repeat 2
        run capability/string-processing.yaml --target echo --json
        run capability/examples.yaml --target oracle --judge-model none --sandbox none
        run capability/examples.yaml --target oracle
        run dataset.json --target oracle
        run dataset.json --target null --json
        run sessions --target oracle
        run sessions/count-files.json --target null --json
        run regression/users-endpoint.json --target oracle --var test_token=t --var api_base_url=http://localhost
        run regression/examples.yaml --target oracle --var test_token=t --var api_base_url=http://localhost --json
        run regression/examples.yaml --target null --var test_token=t
        run eval-suite.yaml --target null --judge-model none --var test_token=t -o junit.xml -o report.json -j 1
        > junit.xml
        run eval-trigger.yaml
        run phase.yaml
        run .
        runs
        """,
    ),
    Scene(
        "passing",
        OWN,
        """
        run passing.yaml
        run passing.yaml --json -o junit.xml
        > junit.xml
        show @1
        resume @1
        run passing.yaml --tag old --k 1,2
        run passing.yaml --category america --repeat 1
        run passing.yaml --limit 2 --only a
        capture @1 france -o regression.yaml
        > regression.yaml
        run regression.yaml --target echo
        """,
    ),
    Scene(
        "flaky",
        OWN,
        """
        run flaky.yaml
        run flaky.yaml --json
        show @1 peru
        run flaky.yaml -o junit.xml
        > junit.xml
        plan flaky.yaml
        verify @1 --json
        """,
    ),
    Scene(
        "gated",
        OWN,
        """
        run gated.yaml --baseline none
        baseline @1 -o baseline.json
        run gated.yaml
        run gated.yaml --target agent.py:moody --json
        run gated.yaml --target agent.py:moody -o junit.xml
        > junit.xml
        gate @2
        gate @3 --regression-tolerance 90
        gate @3 --baseline baseline.json --strict-flips -o judged.json
        gate @3 --baseline none
        compare default @3
        regressions gated --run @3
        regressions gated.yaml --inconclusive fail --margin 1
        baseline list --json
        baseline rm default
        run gated.yaml
        """,
    ),
    Scene(
        "sequential",
        "tests/goldens/projects/sequential",
        """
        run sequential.yaml --sequential --fail-under 0.9 -j 1
        run sequential.yaml --sequential --fail-under 0.5 -j 1 --json
        run sequential.yaml --target agent.py:sure
        baseline @3
        run sequential.yaml --sequential --baseline default -j 1
        verify @1
        show @4
        """,
    ),
    Scene(
        "errors",
        OWN,
        """
        run broken.yaml
        run broken.yaml --json -o junit.xml
        > junit.xml
        show @1 peru
        resume @1
        verify @1
        run crashing.yaml
        run crashing.yaml --json
        show @3 japan
        regrade @3
        compare @1 @3
        """,
    ),
    Scene(
        "judged",
        OWN,
        """
        run judged.yaml -j 1 --judge-model scripted/judge.yaml
        run judged.yaml -j 1 --judge-model scripted/judge.yaml --json
        run judged.yaml -j 1 --judge-model scripted/judge.yaml --no-cache --max-cost 0.001
        run judged.yaml -j 1 --judge-model scripted/judge.yaml --no-cache --max-tokens 900
        resume @4 -j 1 --max-tokens 9000
        show @1 said
        show @1 said --json
        cache
        regrade @1 -j 1 --judge-model scripted/harsh.yaml
        run due.yaml
        run due.yaml --json -o junit.xml
        > junit.xml
        regrade @6 -j 1 --judge-model scripted/judge.yaml
        regrade @6 -j 1 --judge-model scripted/judge.yaml --json
        calibrate judged.yaml --judge-model scripted/judge.yaml
        selftest judged.yaml -j 1 --judge-model scripted/judge.yaml
        cache clear
        """,
        env={"EVALHARNESS_PRICES": "prices.json"},
    ),
    Scene(
        "regraded",
        OWN,
        """
        run flaky.yaml --json
        ! scorers.py
        regrade @1
        regrade @1 --json
        regrade @1 --suite passing.yaml
        regrade @1 --only chile --fail-under 0.5
        compare @1 @2
        runs
        show @2
        """,
        edits={"scorers.py": "def is_capitalised(context):\n    return context.text == 'Atlantis'\n"},
    ),
    Scene(
        "workflows",
        OWN,
        """
        run bakery.json --target agent.py:workflow
        run bakery.json --target agent.py:workflow --json
        run bakery.json --target agent.py:workflow --scorer latency:max_ms=2000 --scorer scorers.py:short
        show @1 loaf
        regrade --artifact artifact.json --dataset bakery.json --case loaf
        regrade --artifact artifact.json --dataset bakery.json --case cake --json
        """,
    ),
    Scene(
        "sessions",
        OWN,
        """
        run sessions --target session_target.yaml -j 1
        run sessions --target session_target.yaml -j 1 --json --repeat 2
        show @1 files
        show @1 talk --json
        run sessions --target session_target.yaml -j 1 --save-sessions saved
        > saved/@3.json
        > saved/@3.log
        """,
    ),
    Scene(
        "costs-and-variants",
        OWN,
        """
        run priced.yaml
        run priced.yaml --json
        run priced.yaml -j 1 --max-cost 0.02
        run priced.yaml -j 1 --max-tokens 60
        resume @4 -j 1
        run priced.yaml --dry-run
        run matrix.yaml
        run matrix.yaml --json -o junit.xml
        > junit.xml
        regressions matrix --baseline-variant careful
        regrade @5 --matrix
        """,
    ),
    Scene(
        "tables",
        OWN,
        """
        import table.csv --map id=id --map input=question --map expected=answer
        import table.csv --map id=id --map input=question --map expected=answer -o table.yaml --name sums
        run table.yaml --target oracle
        """,
    ),
    Scene(
        "first-steps",
        "tests/goldens/projects/empty",
        """
        list-suites
        runs
        init
        > suite.yaml
        run suite.yaml
        init
        store prune --older-than 30d
        store prune --older-than 1d --dry-run
        """,
    ),
    Scene(
        "wrong-usage",
        OWN,
        """
        validate misspelt.yaml
        validate misspelt.yaml --json
        run misspelt.yaml
        run nowhere.yaml
        run passing.yaml --target agent.py:nobody
        run passing.yaml --target agnet:scripted/x
        run passing.yaml --only nothing-of-this
        run passing.yaml --repeat 0
        run passing.yaml -o report.txt
        run passing.yaml --fail-under 200
        rnu passing.yaml
        show nobody-at-home-000
        runs
        run passing.yaml
        show @1 atlantis
        gate @1 --gate lenient
        compare @1 nobody
        regressions passing
        baseline rm default
        verify agent.py
        regrade @1 --judge-model nobody/nothing
        plan nowhere.yaml
        import nowhere.csv
        runs rm @1
        resume
        """,
    ),
    Scene(
        "help",
        OWN,
        """
        --help
        --version
        run --help
        phase --help
        resume --help
        regrade --help
        compare --help
        gate --help
        selftest --help
        """,
    ),
)
