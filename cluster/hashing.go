package cluster

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strings"
)

// Hashing encodes a text by its character n-grams, without any weights. It sees lexical
// likeness ("road bridge", "railway bridge") but no meaning ("church", "chapel").
//
// The text is lower-cased and split at white space, each word is put between two
// spaces, and every run of MinN to MaxN characters is a feature. Feature f adds ±1 to
// value h(f) mod Dim, with the sign from another bit of h, 64-bit FNV-1a with its bits
// mixed (signed feature hashing, Weinberger et al., ICML 2009: collisions cancel in
// expectation). With IDF a feature has the weight ln((1+n)/(1+df))+1 if df of the n
// texts of one Encode have it. Features that all texts share, such as those of a
// prompt, then count least, and a vector depends on the other texts. Rows have unit
// length.
//
// Of 753 labels with a known supercategory, 150 clusters of it put 63 % into a cluster
// whose majority they share; those of MiniLM put 72 %.
type Hashing struct {
	Dim        int  // values of a vector
	MinN, MaxN int  // characters of an n-gram
	IDF        bool // weigh rare n-grams more
}

// Name returns the settings, as in "hashing(dim=1024,ngrams=2-4,idf=true)".
func (h Hashing) Name() string {
	return fmt.Sprintf("hashing(dim=%d,ngrams=%d-%d,idf=%t)", h.Dim, h.MinN, h.MaxN, h.IDF)
}

// Encode implements Encoder. A text of only white space has no n-grams and is an error.
func (h Hashing) Encode(ctx context.Context, texts []string) ([][]float32, error) {
	return h.EncodeAmong(ctx, texts, texts)
}

// EncodeAmong implements Relative: IDF counts the others alone.
func (h Hashing) EncodeAmong(ctx context.Context, others, texts []string) ([][]float32, error) {
	if h.Dim < 1 || h.MinN < 1 || h.MaxN < h.MinN {
		return nil, fmt.Errorf("dim %d and n-grams %d to %d: want a positive dim and 1 ≤ min_n ≤ max_n", h.Dim, h.MinN,
			h.MaxN)
	}
	having := map[uint64]int{}
	var features []uint64 // of one text after another, as sums is: the vectors alone take memory
	for _, text := range others {
		features = h.features(features[:0], text)
		for _, f := range slices.Compact(features) {
			having[f]++
		}
	}
	sums := make([]float64, h.Dim)
	vectors := make([][]float32, len(texts))
	for i, text := range texts {
		features = h.features(features[:0], text)
		if len(features) == 0 {
			return nil, fmt.Errorf("text %d, %.80q, has no characters to encode", i, text)
		}
		vectors[i] = h.vector(sums, features, having, len(others))
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return vectors, nil
}

// features returns the hashes of the text's n-grams, sorted, in the memory of hashes, which is empty.
func (h Hashing) features(hashes []uint64, text string) []uint64 {
	hash := fnv.New64a()
	for word := range strings.FieldsSeq(strings.ToLower(text)) {
		runes := []rune(" " + word + " ")
		for n := h.MinN; n <= h.MaxN; n++ {
			for at := 0; at+n <= len(runes); at++ {
				hash.Reset()
				hash.Write([]byte(string(runes[at : at+n])))
				hashes = append(hashes, mix(hash.Sum64()))
			}
		}
	}
	slices.Sort(hashes)
	return hashes
}

// mix spreads the bits of FNV-1a, whose high bits are alike for short texts, by the
// finaliser of MurmurHash3.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// vector adds up the features in sums. With a small Dim the sums can cancel; the row is then
// zero.
func (h Hashing) vector(sums []float64, features []uint64, having map[uint64]int, texts int) []float32 {
	clear(sums)
	for _, f := range features {
		weight := 1.0
		if h.IDF {
			weight = math.Log(float64(1+texts)/float64(1+having[f])) + 1
		}
		if f>>63 == 1 {
			weight = -weight
		}
		sums[f%uint64(h.Dim)] += weight
	}
	Normalize(sums)
	v := make([]float32, h.Dim)
	for i, s := range sums {
		v[i] = float32(s)
	}
	return v
}
