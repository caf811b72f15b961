package loss_test

import (
	"encoding/json"
	"testing"

	"hgld/internal/testing/must"
	"hgld/train/loss"
)

// set puts a setting that a file says in another way.
func (s settings) set(t *testing.T, key string, v any) {
	t.Helper()
	text, err := json.Marshal(v)
	must.Do(t, err)
	s[key] = text
}

// rename moves a setting.
func (s settings) rename(from, to string) {
	s[to] = s[from]
	delete(s, from)
}

// one takes a setting that must be a key of the table, and returns what it means.
func one[T any](t *testing.T, s settings, key string, table map[string]T) T {
	t.Helper()
	v, ok := table[string(s[key])]
	if !ok {
		t.Fatalf("setting %s is %s, which is not understood", key, s[key])
	}
	delete(s, key)
	return v
}

// translate brings settings into the names and words of ours.
func (g *golden) translate(t *testing.T, s settings) {
	t.Helper()
	switch g.Loss {
	case "calibration":
		s.set(t, "reduction", one(t, s, "reduction", map[string]string{
			`"mean over violating pairs, per sign, summed"`:                                          "violations",
			`"per query: mean over all positives + mean over all negatives, then mean over queries"`: "per-query",
		}))
		s.self(t)
		s.set(t, "normalise", g.NormalisedInside)
	case "triplet":
		s.set(t, "mining", one(t, s, "mining", map[string]string{
			`"all triplets"`: "all",
			`"easiest positive, hardest negative strictly below it (released semihard True)"`: "easiest",
		}))
		s.expect(t, "reduction", "mean over strictly positive triplets")
		s.self(t)
		s.set(t, "normalise", g.NormalisedInside)
	case "xbm-contrastive":
		s.expect(t, "self_in_gallery", "excluded by s < 1 - 1e-5")
		s.expect(t, "reduction", "sum over queries / B")
	case "multi-similarity":
		if s["scale_pos"] != nil {
			s.expect(t, "reduction", "sum over anchors / B")
			s.rename("scale_pos", "alpha")
			s.rename("scale_neg", "beta")
			s.rename("thresh", "base")
		} else {
			s.expect(t, "reduction", "mean over anchors")
		}
		s.set(t, "normalise", g.NormalisedInside)
	case "fast-ap":
		s.expect(t, "reduction", "mean over queries with positives")
		s.expect(t, "self_in_gallery", false)
	case "nca-pp", "proxy-nca":
		s.expect(t, "smoothing", json.RawMessage("0.0"))
	case "csl":
		s.expect(t, "reduce", "sum") // over levels
	case "cross-entropy":
		s.expect(t, "smoothing", "1-eps on the class, eps/(C-1) elsewhere")
		s.expect(t, "constant", "KL: the entropy of the target is subtracted")
	case "blackbox-ap":
		s.set(t, "margin_kind", one(t, s, "margin_kind", map[string]string{
			`"deterministic"`: "deterministic", `"half-normal, amplitude given per pair"`: "half-normal",
		}))
	case "rambo-recall":
		s.expect(t, "reduction", "mean over all positive pairs")
		s.set(t, "scale_by_rows", one(t, s, "rank_scale", map[string]bool{
			`"rows (N), columns are N-1"`: true, `"rows = columns"`: false, `"columns: integer counts"`: false,
		}))
	}
}

// self reads the sentences by which a file says that the query is in its gallery.
func (s settings) self(t *testing.T) {
	t.Helper()
	s.set(t, "self_in_gallery", one(t, s, "self_in_gallery", map[string]bool{
		"true": true, "false": false, `"present, contributes 0"`: true, `"yes, as positive"`: true,
	}))
}

// composition is a method of several parts. Its level and relevance are those of
// the parts that have one.
func (g *golden) composition(t *testing.T, s settings) loss.Kind {
	t.Helper()
	combine := loss.Add
	if g.memoryBesideTheBatch = g.Gallery != nil; g.memoryBesideTheBatch {
		combine = one(t, s, "memory_combine", map[string]loss.Combine{
			`"(batch + memory)/2 per criterion"`:                                   loss.Average,
			`"(batch + memory)/2 for the rank loss, the proxy loss has no memory"`: loss.Average,
			`"(batch + memory)/2 for the rank loss"`:                               loss.Average,
		})
	}
	if s["level"] != nil {
		var parts []string
		for _, name := range []string{"sup_ap", "sup_recall", "nsm", "arcface", "calibration"} {
			if s[name] != nil {
				parts = append(parts, name)
			}
		}
		s.push(t, "level", parts...)
	}
	if s["relevance"] != nil {
		s.relevance(t)
		s.push(t, "relevance", "sup_h_ap")
	}
	var weights []float64
	must.Do(t, json.Unmarshal(s["weights"], &weights))
	var l loss.Composition
	for _, key := range []string{"sup_ap", "sup_h_ap", "sup_ndcg", "sup_recall", "calibration", "nsm", "arcface"} {
		if s[key] != nil {
			l.Terms = append(l.Terms, loss.Term{Name: key, Weight: weights[len(l.Terms)], Loss: g.term(t, key, s[key], combine)})
		}
		delete(s, key)
	}
	if delete(s, "weights"); len(s) > 0 || len(l.Terms) != len(weights) {
		t.Fatalf("%d terms, %d weights, and settings without a meaning: %v", len(l.Terms), len(weights), s)
	}
	return l
}

// term is a part of a composition, with its settings strictly decoded.
func (g *golden) term(t *testing.T, key string, text json.RawMessage, combine loss.Combine) loss.Kind {
	t.Helper()
	var s settings
	must.Do(t, json.Unmarshal(text, &s))
	switch key {
	case "sup_ap":
		l := into(t, s, loss.SupAP{})
		l.MemoryCombine = combine
		return l
	case "sup_h_ap":
		l := into(t, s, loss.SupHAP{})
		l.MemoryCombine = combine
		return l
	case "sup_ndcg":
		l := into(t, s, loss.SupNDCG{})
		l.MemoryCombine = combine
		return l
	case "sup_recall":
		l := into(t, s, loss.SupRecall{})
		l.MemoryCombine = combine
		return l
	case "calibration":
		l := into(t, s, loss.Calibration{}).Released().(loss.Calibration) // its switches are not among the settings
		l.MemoryCombine = combine
		return l
	case "nsm":
		return into(t, s, loss.NSM{})
	}
	return into(t, s, loss.ArcFace{})
}
