package main

import (
	"os"
	"strings"
	"testing"
)

func TestFiguresOfVectors(t *testing.T) {
	embeddingFiles(t)
	for _, c := range []struct{ args, file, want string }{
		{"gap --sizes 10,20,60 --metric AP", "gap.csv", "\n60,1,"},
		{"gap --sizes 10 --metric H-AP --batches 2 --out h.png", "h.csv", "\n10,2,"},
		{"region --sizes 8,16 --per-class 2", "region.csv", ",0.0990338755\n"},
		{"curves --query img7 --embeddings e.parquet", "curves.csv", "\ne.parquet,2,"},
		{"scores --level kind", "scores.csv", "positives,-1,-0.98,"},
		{"curves --query 7 --level all --out all.svg", "all.svg", "hierarchical recall"},
		{"curves --query 7 --level kind --out kind.svg", "kind.svg", "e: AP 0."},
	} {
		args := append([]string{"figure"}, strings.Fields(c.args)...)
		code, out, errs := run(t, append(args, "--embeddings", "e.npy", "--labels", "l.csv")...)
		text, err := os.ReadFile(c.file)
		if code != 0 || err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: exit code %d, %v, want %q\n%s%s%.300s", c.args, code, err, c.want, out, errs, text)
		}
	}
	for args, want := range map[string]string{
		"curves --query zz":              "want the id of an item, or its row from 0 to 59",
		"curves --query 1 --level knd":   `unknown level "knd": did you mean "kind"`,
		"scores --level knd":             `unknown level "knd": did you mean "kind"`,
		"gap --sizes 99":                 "a batch of 99 of 60 items",
		"gap --sizes 8 --metric R@1_x":   "want @ and a number",
		"gap --sizes 8 --metric nosuch":  `unknown metric "nosuch"`,
		"region --sizes x":               `--sizes has "x"`,
		"region --sizes 8 --per-class 3": "a batch of 8 cannot hold 3 items",
		"region --sizes 8 --tau 0":       "tau is 0",
		"gap --sizes 8 --out x.txt":      "want a file ending in .svg or .png",
	} {
		line := "figure " + args + " --embeddings e.npy --labels l.csv --replace"
		code, _, errs := run(t, strings.Fields(line)...)
		if code != exitUsage || !strings.Contains(errs, want) {
			t.Errorf("%s: exit code %d, want %q\n%s", args, code, want, errs)
		}
	}
}
