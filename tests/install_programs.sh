#!/usr/bin/env bash
# Installs the programs that some tests look at our output with, where this machine allows it (Debian or Ubuntu, as
# root or with sudo without a password), and Azure's emulator, where there is npm. Elsewhere it says what is missing;
# the tests that need it are then skipped.
set -u
if ! command -v azurite-blob >/dev/null && [ ! -e .venv/node_modules/.bin/azurite-blob ]; then
    npm install --silent --no-audit --no-fund --prefix .venv azurite >/dev/null 2>&1 ||
        echo "not here, so its tests are skipped: azurite (npm install --prefix .venv azurite)"
fi
missing=()
for program in chromium ffmpeg firefox-esr melt; do
    command -v "$program" >/dev/null || missing+=("$program")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -eq 0 ]; then become=(); else become=(sudo -n); fi
if command -v apt-get >/dev/null && "${become[@]}" true 2>/dev/null; then
    echo "installing for the tests: ${missing[*]}"
    "${become[@]}" apt-get update -qq >/dev/null 2>&1
    DEBIAN_FRONTEND=noninteractive "${become[@]}" apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null 2>&1
fi
for program in "${missing[@]}"; do
    command -v "$program" >/dev/null || echo "not here, so its tests are skipped: $program (apt-get install $program)"
done
exit 0
