// Package definition computes every loss by its definition, in float64 and plain loops:
// embeddings to scores, scores to ranks over all pairs, and the gradient by the chain rule. Tests
// compare the losses with it, and `hgld loss` prints it beside them. It is slow: it takes
// O(positives × gallery) operations per query.
package definition

import "hgld/train/loss"

// Of computes a loss and its gradients. It fails for a loss that has no definition here.
func Of(k loss.Kind, in *Batch) (Result, error) {
	r := Result{Query: ZerosLike(in.Query), Proxies: ZerosLike(in.Proxies), Bias: make([]float64, len(in.Bias))}
	if !in.isOwn() {
		r.Gallery = ZerosLike(in.Gallery)
	}
	return r, add(k, in, 1, &r)
}

// add adds weight times a loss and its gradients.
func add(k loss.Kind, in *Batch, weight float64, r *Result) error {
	switch k := k.(type) {
	case loss.Sum:
		return addTerms(k.Terms, in, weight, r)
	case loss.Composition:
		return addTerms(k.Terms, in, weight, r)
	case loss.SumTriplet:
		return addLevels(k.Levels, k.Weights, in, weight, r, func(level int) loss.Kind {
			return loss.Triplet{Margin: k.Margin, Normalise: k.Normalise, Level: level, GalleryOptions: k.GalleryOptions}
		})
	case loss.SumNSM:
		return addLevels(k.Levels, k.Weights, in, weight, r, func(level int) loss.Kind {
			return loss.NSM{Temperature: k.Temperature, Level: level}
		})
	case loss.SumNCAPP:
		return addLevels(k.Levels, k.Weights, in, weight, r, func(level int) loss.Kind {
			return loss.NCAPP{Scale: k.Scale, Level: level}
		})
	case loss.NSM:
		addNSM(k, in, weight, r)
	case loss.RamboDetection:
		addDetection(k, in, weight, r, new(Scores))
	case loss.CrossEntropy:
		addCrossEntropy(k, in, weight, r)
	default:
		return addCompared(k, in, weight, r)
	}
	return nil
}

func addTerms(terms []loss.Term, in *Batch, weight float64, r *Result) error {
	for _, term := range terms {
		if err := add(term.Loss, in, weight*term.Weight, r); err != nil {
			return err
		}
	}
	return nil
}

// addLevels adds a loss at each of several levels.
func addLevels(levels []int, weights []float64, in *Batch, weight float64, r *Result,
	at func(level int) loss.Kind) error {
	levels, weights = levelsOf(levels, weights, len(in.Labels[0]))
	for i, level := range levels {
		if err := add(at(level), in, weight*weights[i], r); err != nil {
			return err
		}
	}
	return nil
}

// addCompared adds a loss of scores, against the gallery, the memory or proxies.
func addCompared(k loss.Kind, in *Batch, weight float64, r *Result) error {
	if d := scoredOf(k, in); d != nil {
		d.addWithMemory(in, weight, r)
		return nil
	}
	if addProxied(k, in, weight, r) {
		return nil
	}
	if original, ok := k.(loss.RecallAtKOriginal); ok && original.SiMix {
		return addMixedRows(original, in, weight, r)
	}
	d, err := OfRanks(k, len(in.Labels[0]), len(in.Gallery))
	if err != nil {
		return err
	}
	if in.Memory == nil {
		d.Add(in, weight, r)
		return nil
	}
	batch, memory := in.weights(d.combine)
	d.Add(in, weight*batch, r)
	d.Add(in.remembered(), weight*memory, r)
	return nil
}

// levelsOf fills in all levels, and equal weights, if none are given.
func levelsOf(levels []int, weights []float64, n int) ([]int, []float64) {
	if levels == nil {
		for l := range n {
			levels = append(levels, l)
		}
	}
	if weights == nil {
		for range levels {
			weights = append(weights, 1/float64(len(levels)))
		}
	}
	return levels, weights
}

// Draws reports whether a loss draws random numbers, which its definition reads from
// Batch.Drawn.
func Draws(k loss.Kind) bool {
	switch k := k.(type) {
	case loss.SmoothAP:
		return k.UsePosMixup
	case loss.SupAP:
		return k.UsePosMixup
	case loss.SmoothRecall:
		return k.UsePosMixup
	case loss.SupRecall:
		return k.UsePosMixup
	case loss.RecallAtKOriginal:
		return k.SiMix
	case loss.BlackBoxAP:
		return k.MarginKind == loss.HalfNormal
	}
	return false
}
