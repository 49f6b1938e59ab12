# Shared by ./run and ./check: find a Python, make an environment, install into it once.

find_python() {
    for name in "${PYTHON:-}" python3 python python3.14 python3.13 python3.12 python3.11; do
        [ -n "$name" ] && command -v "$name" >/dev/null 2>&1 || continue
        if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$name"
            return
        fi
    done
    found=$(python3 --version 2>/dev/null || echo "none")
    echo "nullproof needs Python 3.11 or newer and found: $found; install one, or name it: PYTHON=/path/to/python $0" >&2
    exit 2
}

# make_environment FOLDER PROJECT PIP-ARGUMENTS...: installs again when what is asked for has changed.
make_environment() {
    folder=$1 project=$2
    shift 2
    wanted=$(cat "$project/pyproject.toml" "$project/constraints.txt" "$project/requirements-dev.txt" | cksum)
    [ -e "$folder/.ready" ] && [ "$(cat "$folder/.ready")" = "$wanted" ] && return
    python=$(find_python) || exit 2
    if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
        echo "$python has no venv module; install it (on Debian and Ubuntu: apt install python3-venv), then try again" >&2
        exit 2
    fi
    echo "setting up $folder (once) …" >&2
    "$python" -m venv --clear "$folder"
    if ! "$folder/bin/python" -m pip install -qq --disable-pip-version-check -c "$project/constraints.txt" "$@" >&2; then
        echo "the installation into $folder failed; check the connection to the package registry, then try again" >&2
        exit 2
    fi
    echo "$wanted" > "$folder/.ready"
}

# Java, Postgres and Chromium are for the tests of Spark, of SQL databases and of what a browser shows,
# which skip without them.
install_system_parts() {
    wanted=
    command -v java >/dev/null 2>&1 || wanted="$wanted openjdk-17-jre-headless"
    ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || wanted="$wanted postgresql"
    command -v chromium >/dev/null 2>&1 || command -v chromium-browser >/dev/null 2>&1 ||
        command -v google-chrome >/dev/null 2>&1 || wanted="$wanted chromium"
    [ -n "$wanted" ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1 || return 0
    echo "installing$wanted for the tests that need them …" >&2
    { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y $wanted; } >/dev/null 2>&1 ||
        echo "could not install$wanted; their tests will be skipped" >&2
}
