// rankscore: loss[q] of the query's ranks, and its derivatives by rank and plus; see
// rankscore.h. rank, plus, drank, dplus [Q,G], sh U8 [Q,G], rel and cnt [Q,L+1]; plus
// and dplus may be null. A block takes a query. Reads 9·Q·G bytes at most, writes 8·Q·G.
// Reference: ../reference/rankscore.go
#include "rankscore.h"

HG_KERNEL(256, rankscore_f32, float *loss, float *drank, float *dplus, const float *rank, const float *plus,
          const u8 *sh, const float *rel, const int *cnt, i64 items, i64 ldu, i64 ldv, i64 ldr, i64 ldp, i64 lds,
          i64 ldl, i64 ldc, int top, Score o) {
  HG_SHARED(ScoreRoom, room, [1]);
  i64 q = blockIdx.x;
  RankRow row = {items,        sh + q * lds, nullptr,
                 rank + q * ldr, plus ? plus + q * ldp : plus, nullptr, nullptr,
                 drank + q * ldu, dplus ? dplus + q * ldv : dplus, nullptr};
  Levels levels = {cnt + q * ldc, rel + q * ldl, top};
  double l = rank_score(row, levels, o, room);
  if (threadIdx.x == 0) loss[q] = (float)l;
}
