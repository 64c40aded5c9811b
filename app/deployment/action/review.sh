#!/usr/bin/env bash
# Writes $RUNNER_TEMP/comment.md and a page for each changed program, and says how the comparison ended.
set -euo pipefail
strata=$RUNNER_TEMP/strata/bin/strata
options=(--base "$RUNNER_TEMP/base" --pairs "$PAIRS")
target=()
if [ -n "$TARGET" ]; then target=(--target "$TARGET"); fi
if [ -n "$STRATA_SERVER" ]; then options+=(--link); fi

# The patterns are split at spaces and left to git, which also lists programs that the change removes.
read -ra patterns <<< "$FILES"
mapfile -d '' -t files < <(
  { git ls-files -z -- "${patterns[@]}"; git -C "$RUNNER_TEMP/base" ls-files -z -- "${patterns[@]}"; } | sort -zu
)
if [ ${#files[@]} -eq 0 ]; then
  echo "no file fits $FILES" >&2
  exit 2
fi

status=0
"$strata" review "${options[@]}" "${target[@]}" -o "$RUNNER_TEMP/comment.md" -- "${files[@]}" || status=$?
if [ ! -e "$RUNNER_TEMP/comment.md" ]; then exit "$status"; fi
echo "status=$status" >> "$GITHUB_OUTPUT"

# Without a server that keeps links, the run keeps a page in one file for each program that changed.
mkdir -p "$RUNNER_TEMP/strata-pages"
if [ -z "$STRATA_SERVER" ]; then
  for file in "${files[@]}"; do
    if [ -e "$file" ] && ! cmp -s "$file" "$RUNNER_TEMP/base/$file"; then
      "$strata" export "${target[@]}" -o "$RUNNER_TEMP/strata-pages/${file//\//_}.html" -- "$file" || true
    fi
  done
fi
