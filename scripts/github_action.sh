#!/usr/bin/env bash
# What action.yml runs: annotations on the standard output, and a SARIF report if one is asked for.
# From the environment: FERRULE_PATHS, FERRULE_ARGS (words separated by spaces), FERRULE_SINCE, FERRULE_SARIF.
set -euo pipefail

options=()
if [[ -n "${FERRULE_SINCE:-}" ]]; then
  options+=("--since=$FERRULE_SINCE")
fi
read -r -a more <<<"${FERRULE_ARGS:-}"
read -r -a paths <<<"${FERRULE_PATHS:-.}"
# bash 3 takes an empty array for an unset one
options+=(${more[@]+"${more[@]}"})

if [[ -n "${FERRULE_SARIF:-}" ]]; then
  # what goes wrong here goes wrong in the run below as well, which says so
  ferrule-lint check ${options[@]+"${options[@]}"} --exit-zero --quiet --output-format=sarif --output-file="$FERRULE_SARIF" \
    -- "${paths[@]}" || true
fi
exec ferrule-lint check ${options[@]+"${options[@]}"} --output-format=github -- "${paths[@]}"
