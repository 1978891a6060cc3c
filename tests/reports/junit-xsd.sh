#!/usr/bin/env bash
# Fetches the schema of JUnit files that CI systems read, junit-10.xsd of Jenkins' xUnit plugin, and prints the setting
# by which the ignored tests of tests/reports and tests/eval find it. It is carried by the source package of pytest,
# which holds its own reports against it:
#
#   eval "$(tests/reports/junit-xsd.sh "$(mktemp -d)")"
#   cargo test --test reports --test eval -- --ignored junit
set -euo pipefail
to=$(cd "${1:?which directory?}" && pwd)
python3 -m pip download --quiet --disable-pip-version-check --no-deps --no-binary pytest --dest "$to" 'pytest==9.0.2' >&2
tar --extract --gzip --file "$to/pytest-9.0.2.tar.gz" --directory "$to" --strip-components 3 \
    pytest-9.0.2/testing/example_scripts/junit-10.xsd
echo "export CLAWGATE_JUNIT_XSD='$to/junit-10.xsd'"
