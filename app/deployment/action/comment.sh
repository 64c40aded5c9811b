#!/usr/bin/env bash
# Replaces the comment that an earlier run wrote, or writes the first one.
set -euo pipefail
comments=repos/$REPOSITORY/issues/$NUMBER/comments
earlier=$(gh api --paginate "$comments" --jq '.[] | select(.body | startswith("<!-- strata review -->")) | .id' | head -n 1)
if [ -n "$earlier" ]; then
  gh api --silent -X PATCH "repos/$REPOSITORY/issues/comments/$earlier" -F "body=@$RUNNER_TEMP/comment.md"
else
  gh api --silent "$comments" -F "body=@$RUNNER_TEMP/comment.md"
fi
