package nulldriver

import "strings"

// RankWork is a RankLoss of queries with the same number of positives, equally many of each level. A step's
// launches do not tell how many positives there are.
type RankWork struct {
	Queries, Items int  // rows and columns of the scores
	Positives      int  // of each query
	Levels         int  // that a positive can have
	Sup            bool // steps H, H and H⁻; otherwise sigmoids
}

// mostPairs is the number of positives up to which pairs are added up: rankFew of package cuda.
const mostPairs = 64

// pairInstructions are those of a pair of an item and a positive, counted in what ptxas makes for sm_90: of the
// sums and of the gradient, each with sigmoids and with H⁻.
var pairInstructions = map[string]float64{
	"rankloss_sums_smooth": 34, "rankloss_sums_sup": 44, "rankloss_grad_smooth": 31, "rankloss_grad_sup": 42,
}

// sortSeconds are the times of a sort's kernels for an item, in a pass of those that have several, as measured on
// an H200 with 256 rows of 16,384. sort_small was not measured: it is what four of its passes take.
var sortSeconds = map[string]float64{
	"sort_keys": 7.7e-12, "sort_count": 2.6e-12, "sort_sum": 1.2e-12, "sort_scatter": 2.1e-11, "sort_small": 9e-11,
}

// assembled is the instructions that ptxas makes of one of PTX: 0.6 to 0.8 in the loops over pairs.
const assembled = 0.7

// sortedInstructions returns those of a kernel for sorted rows, of PTX, as the emulator counts them in a row of
// 30,000 items with 7,500 positives of three levels (TestInstructionsOfRankLoss of package cuda), divided by the
// sums over a level, or by the items whose states are written.
func (w RankWork) sortedInstructions(kernel string) float64 {
	items, positives := float64(w.Queries*w.Items), float64(w.Queries*w.Positives)
	levels := float64(w.Levels)
	switch {
	case kernel == "rank_carry" && w.Sup:
		return 400 * (items + positives)
	case kernel == "rank_carry":
		return 430 * (items + 2*positives)
	case kernel == "rank_forward" && w.Sup:
		return 1062 * positives * (levels + 1)
	case kernel == "rank_forward":
		return 931 * positives * (levels + 1)
	case kernel == "rank_backward" && w.Sup: // positives of higher levels
		return 1462 * ((items-positives)*levels + positives*(levels-1)/2)
	case kernel == "rank_backward":
		return 937 * (items + positives) * levels
	case kernel == "rankloss_score":
		return 62 * positives
	}
	return 57 * items // rank_levels, rank_gather
}

// RankLoss predicts the time of a RankLoss with these launches.
func (c Card) RankLoss(w RankWork, launches []Launch) float64 {
	uses := map[string]float64{}
	for _, l := range launches {
		uses[l.Kernel]++
	}
	runs, items := max(uses["rank_levels"], 1), float64(w.Queries*w.Items)
	seconds := launchSeconds * float64(len(launches))
	rate := float64(4*c.Multiprocessors) * 32 * c.Clock * issueRate
	clocks := H100.Clock / c.Clock * float64(H100.Multiprocessors) / float64(c.Multiprocessors)
	for kernel, n := range uses {
		switch {
		case strings.HasPrefix(kernel, "pick"):
			seconds += items / c.Bytes / 0.4
		case pairInstructions[kernel] > 0 && w.Positives <= mostPairs:
			seconds += items * float64(w.Positives) * pairInstructions[kernel] / rate
		case w.Positives <= mostPairs || pairInstructions[kernel] > 0: // its blocks end at once
		case sortSeconds[kernel] > 0:
			seconds += n / runs * items * sortSeconds[kernel] * clocks
		default:
			seconds += assembled * w.sortedInstructions(kernel) / rate
		}
	}
	return seconds
}
