package dataset

import (
	"slices"
	"strings"
	"unicode"

	"hgld/labels"
)

// splitWords are the words that mean a split where they stand in the name of a folder or a file.
var splitWords = map[string]labels.Split{
	"train": labels.Train, "training": labels.Train, "trn": labels.Train, "trainval": labels.Train,
	"background": labels.Train,
	"test":       labels.Test, "testing": labels.Test, "tests": labels.Test, "tst": labels.Test,
	"eval": labels.Test, "evaluation": labels.Test, "holdout": labels.Test, "heldout": labels.Test,
	"val": labels.Val, "valid": labels.Val, "validation": labels.Val, "dev": labels.Val, "devel": labels.Val,
	"development": labels.Val,
	"query":       labels.Query, "queries": labels.Query, "probe": labels.Query, "probes": labels.Query,
	"gallery": labels.Gallery, "galleries": labels.Gallery, "database": labels.Gallery,
	"index": labels.Index,
}

// aroundSplits are words that are written together with those of splits: trainset, testimages.
var aroundSplits = []string{"images", "image", "imgs", "img", "sets", "set", "data", "split", "folder", "list"}

// words splits a name where the kind of its characters changes and at capitals, in lower case:
// "imgTrain2017_v2" is img, train, 2017, v, 2.
func words(name string) (list []string) {
	kind := func(r rune) int {
		switch {
		case unicode.IsLetter(r), unicode.IsMark(r):
			return 1
		case unicode.IsDigit(r):
			return 2
		}
		return 0
	}
	runes, start := []rune(name), 0
	cut := func(end int) {
		if end > start && kind(runes[start]) > 0 {
			list = append(list, strings.ToLower(string(runes[start:end])))
		}
		start = end
	}
	for i := 1; i < len(runes); i++ {
		capital := unicode.IsUpper(runes[i]) &&
			(!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if capital || kind(runes[i]) != kind(runes[i-1]) {
			cut(i)
		}
	}
	cut(len(runes))
	return list
}

// wordSplit returns the split that a word means, "" for none.
func wordSplit(word string) labels.Split {
	for _, around := range append([]string{""}, aroundSplits...) {
		for _, bare := range []string{strings.TrimSuffix(word, around), strings.TrimPrefix(word, around)} {
			if split := splitWords[bare]; split != "" {
				return split
			}
		}
	}
	return ""
}

// splitIn returns the split that a name speaks of, "" for none: that of its first word that means
// one, but a query or a gallery before any other (bounding_box_test_gallery).
func splitIn(name string) (split labels.Split) {
	for _, word := range words(name) {
		is := wordSplit(word)
		if is == labels.Query || is == labels.Gallery {
			return is
		}
		if split == "" {
			split = is
		}
	}
	return split
}

// splitLike returns the split whose name or synonym a name is, with no other words than those of
// images and sets around it: "validation", "images_background", "TestSet". It returns "" for any
// other name.
func splitLike(name string) (split labels.Split) {
	for _, word := range words(name) {
		is := wordSplit(word)
		switch {
		case slices.Contains(aroundSplits, word):
		case is == "" || split != "":
			return ""
		default:
			split = is
		}
	}
	return split
}
