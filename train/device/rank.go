package device

import (
	"errors"
	"fmt"
	"math"
)

// AbsentLevel marks an item that does not exist for a query: an unfilled row of a memory, a
// padding row, an item of which the labels do not say whether it is a positive, or the query itself
// if it is excluded. Such an item is not ranked and never
// positive.
const AbsentLevel = 255

// Bounds of the constants of a Rank operation: the levels that a query and an item can share, and
// the values of k in a recall. A device passes these constants to its kernels by value, in an
// argument of fixed size. Published data sets have at most seven levels (iNaturalist), and
// published losses at most seven values of k.
const (
	MaxLevels = 32
	MaxAt     = 16
)

// SelfKind selects what Shared writes for a query's own item in the gallery.
type SelfKind uint8

// The query's own item counts as an item of its own level (the released code), is excluded (the
// papers), or is ranked without being a positive (the original Recall@k loss).
const (
	SelfLevel SelfKind = iota
	SelfAbsent
	SelfZero
)

// SharedKind selects the label columns that Shared compares, [From, To); To 0 means all from From
// on. One column makes L = 1: an item is positive or negative.
type SharedKind struct {
	From, To int      // label columns, finest first
	Self     SelfKind // level of the query's own row
}

// RelMode selects how levels get their relevance.
type RelMode uint8

// The rules by which a level l gets its relevance r(l), with n_l items of level l
// in the query's row; r(0) = 0.
const (
	// RelBinary is 1 for l ≥ 1.
	RelBinary RelMode = iota
	// RelPop is (l/Divisor)^Alpha / n_l, so that the weight of a level does not depend on
	// its size ("Optimization of Rank Losses", Eq. 20). r need not rise with l: few items
	// of a coarse level may each count more than many of a fine one.
	RelPop
	// RelMap is Σ_{p≤l} Weights[p−1] / #(items of level ≥ p). With it H-AP is the
	// weighted sum of the average precisions of the levels (Property 1 there).
	RelMap
)

// RelKind configures the relevance of the levels.
type RelKind struct {
	Mode      RelMode   // the rule
	Alpha     float32   // RelPop: the power
	Divisor   float32   // L in the paper, L−1 in the released code; cancels in H-AP
	Weights   []float32 // RelMap: one for each level, coarsest first
	CountSelf bool      // count the query in n_L even if it is absent from the row
	AllQ      bool      // weight is 1/Q instead of 1/(queries with a positive)
}

// StepKind is the shape of a step function of t = s_i − s_k.
type StepKind uint8

// The steps of the rank op; see Step. NoStep contributes nothing.
const (
	NoStep    StepKind = iota
	Heaviside          // 1 if t ≥ 0; slope 0
	Sigmoid            // σ(t/τ); slope 0 beyond |t| > 50τ
	Upper              // H⁻ of ROADMAP, an upper bound of the step
	Leak               // t ≤ 0: Leak·t; t > 0: min(1, Beta·t + Gamma)
)

// Step is one step function of t = s_i − s_k with its constants:
//
//	Heaviside  1 if t ≥ 0, else 0                               slope 0
//	Sigmoid    σ(t/τ)                                           slope σ(1−σ)/τ, 0 where |t| > 50τ
//	Upper      t < 0: σ(t/τ);  t = 0: Zero;
//	           0 < t ≤ Delta: Start + σ(t/τ)                    slope of σ
//	           t > Delta: Rho·(t − Delta) + Offset              slope Rho
//	Leak       t ≤ 0: LeakSlope·t                               slope LeakSlope
//	           t > 0: min(1, Beta·t + Gamma)                    slope Beta, 0 from 1 on
//
// Upper is H⁻ of Ramzi et al., "Optimization of Rank Losses" (2023), Eq. 4. It bounds the
// Heaviside step from above and keeps its gradient where the rank is far off. The paper's pieces
// overlap at t = 0 (1/2 or 1), and its Offset joins them; the released code uses 1/2 and 1.44.
// Zero, AutoOffset and Offset select a version. With Rho −1 it is a Sigmoid. Leak is the
// numerator of HAPPIER's released code ("with_hrank").
type Step struct {
	Kind                      StepKind // which step; the other fields are its constants
	Tau                       float32  // Sigmoid, Upper: temperature, positive
	Rho, Delta, Start, Offset float32  // Upper: see above
	AutoOffset                bool     // Offset is Start + σ(Delta/τ), which makes Upper continuous
	Zero                      float32  // value of Upper at t = 0
	LeakSlope, Beta, Gamma    float32  // Leak: see above
}

// Steps holds the steps of the rank (A) and of the positives' rank (B). They depend on how an
// item's level compares with that of the ranked item: Higher, Equal, Lower. The losses use:
//
//	smooth-ap, smooth-h-ap, smooth-ndcg   A σσσ       B σσσ
//	sup-ap, sup-h-ap, sup-ndcg            A H H H⁻    B HHH
//	smooth-recall, sup-recall             A as above, no B
type Steps struct {
	Rank, Plus [3]Step // A and B, indexed by Higher, Equal, Lower
}

// Indices into Steps.Rank and Steps.Plus.
const (
	Higher = 0
	Equal  = 1
	Lower  = 2
)

// ScoreKind selects what RankScore computes from the ranks.
type ScoreKind uint8

// The scores, each a loss of one query. k runs over its P positives; n_l items have level l.
const (
	// ScoreAP is 1 − Σ_k plus_k/rank_k / Z with Z = Σ_l n_l·r(l): average precision
	// if r is 1, hierarchical average precision otherwise.
	ScoreAP ScoreKind = iota
	// ScoreRecall is 1 − mean over κ of K of Σ_k σ((κ − rank_k)/T_κ) / min(κ, P).
	ScoreRecall
	// ScoreNDCG is 1 − Σ_k (2^l_k − 1)/log2(1 + rank_k) / iDCG, iDCG being the sum
	// for the best order.
	ScoreNDCG
	// ScoreLog is Σ_k log(1 + rank_k − plus_k) / P for places counted by Ranks, where plus counts
	// among the positives and rank ≥ plus. The derivative by plus is taken to be 0.
	ScoreLog
	// ScoreLogLog is Σ_k log(1 + log(1 + rank_k − plus_k)) / P.
	ScoreLogLog
)

// Score selects a score, with the constants of Recall.
type Score struct {
	Kind ScoreKind // which score
	At   []float32 // Recall: K
	Temp []float32 // Recall: T of each of K
	Clip bool      // Recall: the sum for κ is at most κ
}

// PairKind selects a sum over a query's items or pairs of items.
type PairKind uint8

// The sums of PairLoss over the scores s of a query's positives p and negatives n. [x]₊ is max(x,
// 0). A term that is 0 is not a violation and does not count.
const (
	// Contrastive is Σ_p [PosMargin − s_p]₊ + Σ_n [s_n − NegMargin]₊.
	Contrastive PairKind = iota
	// CrossBatch is Σ_p (1 − s_p) + Σ_n s_n over the s_p < Ceiling and the
	// s_n > NegMargin.
	CrossBatch
	// MultiSimilarity is log(1 + Σ_p e^(−PosScale·(s_p − Base))) / PosScale +
	// log(1 + Σ_n e^(NegScale·(s_n − Base))) / NegScale over the s_p < Ceiling. With
	// Mine only those s_n count that are above the least s_p − PosMargin, and those
	// s_p that are below the greatest s_n + PosMargin; without one of either kind
	// the query is 0.
	MultiSimilarity
	// Triplet is Σ_p Σ_n [s_n − s_p + PosMargin]₊.
	Triplet
	// EasyTriplet is Triplet of the greatest s_p and the greatest s_n strictly below
	// it, of equal ones the first row; 0 where there is no such n.
	EasyTriplet
	// Levels is Σ_c log(1 + Σ_{l_i < L−c} e^(PosScale·(s_i + Margins[c])) · Σ_{l_p = L} e^(−PosScale·s_p))
	// over L levels, finest first: at each, all that differs from the query there is
	// a negative, and what equals it in the finest is the positive.
	Levels
	// Angular is log(Σ_n e^(PosScale·s_n) + e^z) − z for the first positive, with
	// z = PosScale·φ(s_p) and φ(cos θ) = cos(θ + PosMargin), where that falls with θ;
	// cos θ − PosMargin·sin(PosMargin) beyond. With Easy φ is cos θ from θ = π/2 on.
	// With Smoothing ε every one of the C items, these negatives and that positive,
	// has h·φ(s) + (1 − h)·s for its score here, h being 1 − ε + ε/C for the
	// positive and ε/C for the others.
	Angular
	// Ratio is log Σ_n e^(PosScale·s_n) − PosScale·s_p for the first positive: the
	// cross-entropy of softmax without the positive below the line.
	Ratio
)

// PairMean selects how the sums of all queries become one mean.
type PairMean uint8

// The means of PairLoss.
const (
	MeanQueries PairMean = iota // Σ/Q
	// MeanPairs divides the sum of each sign by the number of the query's items of
	// that sign, and by Q.
	MeanPairs
	// MeanTerms divides the sum of each sign over all queries by the number of its
	// terms that are not 0; triplets have one sign.
	MeanTerms
)

// Pairs configures PairLoss, with the constants of its kind.
type Pairs struct {
	Kind                     PairKind  // which sum; the other fields are its constants
	Mean                     PairMean  // over all queries
	PosMargin, NegMargin     float32   // of positives and negatives
	PosScale, NegScale, Base float32   // inverse temperatures, and the origin of the scores
	Ceiling                  float32   // excludes copies of the query: 1 − 1e-5, or +Inf
	Mine                     bool      // MultiSimilarity: only violating items count
	Easy                     bool      // Angular: φ is cos θ from θ = π/2 on
	Smoothing                float32   // Angular: ε, by which the angle moves the negatives too
	Margins                  []float32 // Levels: of each, finest first
}

// Bins are the bins of BinLoss: N centres at equal distances Δ from Max down to Min. A score
// belongs to the two nearest centres, to each with weight 1 − distance/Δ. Beyond the ends it
// belongs to the end centre.
type Bins struct {
	N        int     // centres, at least 2
	Min, Max float32 // the last and the first centre
}

// Rank holds the operations of all ranking losses and metrics. For each query, items have a score
// s_i and a number of shared levels l_i ∈ {0…L}. An item with l_k ≥ 1 is a positive; one with any
// other number (AbsentLevel) does not exist. With c comparing l_i to l_k, and t = s_i − s_k
// rounded to F32:
//
//	rank_k = 1      + Σ_{i≠k} A_c(t)
//	plus_k = r(l_k) + Σ_{i≠k, l_i≥1} min(r(l_i), r(l_k)) B_c(t)
//
// r is a table of L+1 numbers per query, so that only scores, levels and the gradient have size
// [Q,G].
type Rank interface {
	// Shared counts equal label columns: sh U8 [Q,G] from ql I32 [Q,L] and gl
	// [G,L] (finest first, −1: none) and self I32 [Q], the query's own row in the gallery
	// or −1. self may be absent. A column in which one of two rows has −1 is known if a
	// finer one is equal (then it counts as equal), or a coarser one differs. An item is
	// absent to a query if a column in which the query has a class is not known, if the
	// query has none in [From, To), or if the item has none at all.
	Shared(sh, ql, gl, self Array, o SharedKind)
	// Relevance writes rel F32 [Q,L+1] (rel[·,0] = 0), cnt I32 [Q,L+1] the number
	// of items of each level, and weight F32 [Q]: 1/(queries with a positive), or 0
	// for a query without one.
	Relevance(rel, cnt, weight, sh Array, o RelKind)
	// RankScore writes loss F32 [Q] and its derivatives by rank and plus [Q,G]. plus may be
	// absent except for ScoreAP, ScoreLog and ScoreLogLog, and dplus except for ScoreAP.
	RankScore(loss, drank, dplus, rank, plus, sh, rel, cnt Array, o *Score)
	// RankLoss computes the ranks, their score and the gradient of both in one operation,
	// in O(Q·G) memory: loss [Q], and ds [Q,G] with upstream 1 for every query. A query
	// without a positive has loss 0 and gradient 0. cnt is what Relevance wrote for sh. ds
	// may be absent.
	RankLoss(loss, ds, s, sh, rel, cnt Array, h *Steps, o *Score)
	// Ranks writes the rank, from 1, of each item with sh ≥ least among these, by (score
	// falling, row), and 0 for the others. rank is F32 [Q,G].
	Ranks(rank, s, sh Array, least uint8)
	// Ranked writes the first n items by (score falling, row), absent ones left
	// out: order I32 [Q,n] their rows (−1 beyond the end) and shared U8 [Q,n]
	// their level, bit 7 set where the score equals that of the item before
	// (AbsentLevel beyond the end). n is the columns of shared and order; order may
	// be absent.
	Ranked(shared, order, s, sh Array)
	// RanksGrad is the interpolated gradient of Ranks with least 0 (Vlastelica et
	// al., "Differentiation of Blackbox Combinatorial Solvers", ICLR 2020), of which
	// the derivative is 0 almost everywhere: the ranks, divided by the number n of
	// existing items, against those of scores moved by lambda along their gradient
	//
	//	ds_i = −(rank(s)_i − rank(s + lambda·n·drank)_i) / (n·lambda)
	//
	// drank is read at the positives and is by the undivided rank.
	RanksGrad(ds, drank, s, sh Array, lambda float32)
	// BinLoss is 1 − AP of a histogram of the scores ("Learning with Average
	// Precision", ICCV 2019): with c the weights in each bin, c⁺ those of the
	// positives, C and C⁺ their sums from Max down and P positives
	//
	//	loss = 1 − Σ_m c⁺_m C⁺_m/C_m / P
	//
	// A bin without weight adds 0, a query without a positive has loss 0 and gradient
	// 0. loss is F32 [Q], ds [Q,G] with upstream 1 for every query; where a score
	// lies on a centre its slope is that towards the lower one.
	BinLoss(loss, ds, s, sh Array, o *Bins)
	// PairLoss writes loss F32 [Q], whose sum is the mean that o asks for, with ds
	// [Q,G] its gradient. cnt I32 [Q,2] receives the terms of each query, its
	// positives and its negatives: with MeanPairs all, otherwise those whose term is
	// not 0. It is the triplets and 0 for triplets, and 1 and 0, if the query has a
	// loss, for a cross-entropy (Levels, Angular, Ratio). An item of level 1 or more
	// is a positive but for Levels. ds may be absent.
	PairLoss(loss, cnt, ds, s, sh Array, o *Pairs)
}

// Check returns an error for constants out of range: a temperature that is not
// positive, a slope that would make the step fall.
func (s *Step) Check() error {
	switch s.Kind {
	case Sigmoid, Upper:
		if !(s.Tau > 0) {
			return fmt.Errorf("tau is %v, want a positive temperature", s.Tau)
		}
		if s.Kind == Upper && (!(s.Delta >= 0) || !(s.Rho >= 0) && s.Rho != -1) {
			return fmt.Errorf("delta is %v and rho %v, want numbers from 0 up (rho -1: a sigmoid)", s.Delta, s.Rho)
		}
	case Leak:
		if !(s.LeakSlope >= 0) || !(s.Beta >= 0) {
			return fmt.Errorf("leak is %v and beta %v, want slopes from 0 up", s.LeakSlope, s.Beta)
		}
	}
	return nil
}

// Check returns the error of the first wrong step.
func (h *Steps) Check() error {
	for c := range h.Rank {
		if err := errors.Join(h.Rank[c].Check(), h.Plus[c].Check()); err != nil {
			return err
		}
	}
	return nil
}

// Check returns an error for a rule that cannot weigh the given number of levels, or for more
// than MaxLevels.
func (o *RelKind) Check(levels int) error {
	switch {
	case levels > MaxLevels:
		return fmt.Errorf("relevance: %d levels, want at most %d", levels, MaxLevels)
	case o.Mode == RelPop && !(o.Divisor > 0):
		return fmt.Errorf("relevance: divisor is %v with %d levels, want a positive number", o.Divisor, levels)
	case o.Mode == RelMap && len(o.Weights) != levels:
		return fmt.Errorf("relevance: %d weights for %d levels, want one for each level", len(o.Weights), levels)
	}
	return nil
}

// Check returns an error for constants that leave Recall undefined, or for more than
// MaxAt of them.
func (o *Score) Check() error {
	if o.Kind != ScoreRecall {
		return nil
	}
	if len(o.At) == 0 {
		return errors.New("at_k has 0 numbers, want at least one")
	}
	if len(o.At) > MaxAt {
		return fmt.Errorf("at_k has %d numbers, want at most %d", len(o.At), MaxAt)
	}
	if len(o.Temp) != len(o.At) {
		return fmt.Errorf("temp has %d numbers and at_k has %d, want one temperature for each k or one for all",
			len(o.Temp), len(o.At))
	}
	for i, k := range o.At {
		if !(k >= 1) {
			return fmt.Errorf("at_k has %v, want numbers from 1 up", k)
		}
		if !(o.Temp[i] > 0) {
			return fmt.Errorf("temp is %v for k = %v, want a positive temperature", o.Temp[i], k)
		}
	}
	return nil
}

// Check returns an error unless there are two bins and a range.
func (o *Bins) Check() error {
	if o.N < 2 || !(o.Max > o.Min) {
		return fmt.Errorf("%d bins from %v to %v, want at least two bins and min < max", o.N, o.Min, o.Max)
	}
	return nil
}

// Check returns an error for constants out of range, or for margins of more than
// MaxLevels levels.
func (o *Pairs) Check() error {
	switch o.Kind {
	case CrossBatch:
		if !(o.NegMargin >= 0) {
			return fmt.Errorf("margin is %v, want a number from 0 up", o.NegMargin)
		}
	case MultiSimilarity:
		if !(o.PosScale > 0) || !(o.NegScale > 0) {
			return fmt.Errorf("scales are %v and %v, want positive numbers", o.PosScale, o.NegScale)
		}
	case Angular, Ratio:
		if !(o.PosScale > 0) || !(o.PosMargin >= 0 && o.PosMargin < math.Pi) {
			return fmt.Errorf("scale is %v and margin %v, want a positive number and an angle", o.PosScale, o.PosMargin)
		}
		if !(o.Smoothing >= 0 && o.Smoothing < 1) {
			return fmt.Errorf("ls_eps is %v, want 0 ≤ ls_eps < 1", o.Smoothing)
		}
	case Levels:
		if !(o.PosScale > 0) || len(o.Margins) == 0 {
			return fmt.Errorf("scale is %v with %d margins, want a positive number and a margin for each level", o.PosScale,
				len(o.Margins))
		}
		if len(o.Margins) > MaxLevels {
			return fmt.Errorf("there are %d margins, want at most %d", len(o.Margins), MaxLevels)
		}
	}
	return nil
}
