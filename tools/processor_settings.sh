#!/usr/bin/env bash
# Runs pytest with the given arguments once for each setting that makes torch, oneDNN, MKL, OpenBLAS or numpy take other
# kernels, as other processors do, and prints what came of each: a suite that needs one of them is red elsewhere.
set -u
settings=(
  "unset"
  "ATEN_CPU_CAPABILITY=default"
  "ATEN_CPU_CAPABILITY=avx2"
  "OMP_NUM_THREADS=1"
  "OMP_NUM_THREADS=2"
  "ONEDNN_MAX_CPU_ISA=SSE41"
  "MKL_ENABLE_INSTRUCTIONS=SSE4_2"
  "MKL_CBWR=COMPATIBLE"
  "OPENBLAS_CORETYPE=Prescott NPY_DISABLE_CPU_FEATURES=AVX512F,AVX512_SKX,AVX2,FMA3"
  "OPENBLAS_CORETYPE=Haswell"
)
failed=0
table="setting | exit | last line of pytest"
for setting in "${settings[@]}"; do
  printf '\n== %s\n' "$setting"
  # shellcheck disable=SC2086 - a setting may be several variables
  output=$(env ${setting/#unset/} "${PYTHON:-.venv/bin/python}" -m pytest -q "$@" 2>&1)
  code=$?
  [ $code -eq 0 ] || failed=1
  grep -E "^(FAILED|ERROR)" <<<"$output"
  table+=$'\n'"$setting | $code | $(tail -n 1 <<<"$output")"
done
printf '\n%s\n' "$table"
exit $failed
