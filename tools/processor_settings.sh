#!/usr/bin/env bash
# Runs pytest with the given arguments under the kernels of other processors and prints what came of each: a suite that
# needs the kernels of one machine is red on another. The libraries are independent, so that a setting changes all of them.
# MKL asks a function whether the processor is Intel's; under `intel` its answer is yes, whatever the processor is.
set -u
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
echo 'int mkl_serv_intel_cpu_true(void) { return 1; }' | cc -shared -fPIC -x c -o "$scratch/intel.so" - || exit 2
declare -A settings=(
  [as_it_is]=""
  [oldest]="ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 MKL_ENABLE_INSTRUCTIONS=SSE4_2 OPENBLAS_CORETYPE=Prescott
    NPY_DISABLE_CPU_FEATURES=X86_V3,X86_V4,AVX512_ICL OMP_NUM_THREADS=1 MALLOC_PERTURB_=165"
  [avx2]="ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_CBWR=COMPATIBLE OPENBLAS_CORETYPE=Haswell OMP_NUM_THREADS=2"
  [intel]="LD_PRELOAD=$scratch/intel.so"
)
failed=0
table="setting | exit | last line of pytest"
for name in ${SETTINGS:-as_it_is oldest avx2 intel}; do
  echo "== $name: ${settings[$name]}"
  # shellcheck disable=SC2086 - a setting is several variables
  env ${settings[$name]} "${PYTHON:-.venv/bin/python}" -m pytest -q "$@" 2>&1 | tee "$scratch/output"
  code=${PIPESTATUS[0]}
  [ "$code" -eq 0 ] || failed=1
  table+=$'\n'"$name | $code | $(tail -n 1 "$scratch/output")"
done
printf '%s\n' "$table"
exit $failed
