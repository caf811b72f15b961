package main

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"hgld/internal/testing/must"
)

func TestFiguresOfVectors(t *testing.T) {
	embeddingFiles(t)
	for _, c := range []struct{ args, file, want string }{
		{"gap --sizes 10,20,60 --metric AP", "gap.csv", "\n60,1,"},
		{"gap --sizes 10 --metric H-AP -o batches=2 --out h.png", "h.csv", "\n10,2,"},
		{"region --sizes 8,16 --per-class 2", "region.csv", ",0.0990338755\n"},
		{"curves --query img7 --embeddings e.parquet", "curves.csv", "\ne.parquet,2,"},
		{"scores --level kind", "scores.csv", "positives,-1,-0.98,"},
		{"curves --query 7 --level all --out all.svg", "all.svg", "hierarchical recall"},
		{"means --level landmark --out m.svg", "m.csv", "class,group,items,x,y\n"},
		{"means -o method=pca -o colour=kind --out p.svg", "p.svg", "of the variance"},
		{"landscape --loss sup-ap --sizes 10 -o cells=5 -o reach=0.5", "landscape.csv", "\n0.5,-0.5,"},
		{"landscape --loss blackbox-ap --sizes 10 -o cells=5 --out b.svg", "b.csv", "loss,interpolated by λ = 4,interp"},
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
		"region --sizes x":               `--sizes: "[x]" is not a list`,
		"region --sizes 8 --per-class 3": "a batch of 8 cannot hold 3 items",
		"region --sizes 8 -o tau=0":      "tau is 0",
		"gap --sizes 8 --out x.txt":      "want a file ending in .svg, .png or .pdf",
	} {
		line := "figure " + args + " --embeddings e.npy --labels l.csv --replace"
		says(t, exitUsage, want, strings.Fields(line)...)
	}
}

func TestFiguresOfImages(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	embeddingFiles(t)
	noise := rand.NewChaCha8([32]byte{})
	for i := range 60 {
		dir := fmt.Sprintf("photos/k%d", i%3)
		must.Do(t, os.MkdirAll(dir, 0o755))
		var b bytes.Buffer
		picture := image.NewGray(image.Rect(0, 0, 80, 60))
		noise.Read(picture.Pix) // a sheet of them is long, however it is packed
		must.Do(t, png.Encode(&b, picture))
		must.Do(t, os.WriteFile(fmt.Sprintf("%s/img%d.png", dir, i), b.Bytes(), 0o644))
	}
	const vectors = " --embeddings e.npy --labels l.csv"
	must.Do(t, os.WriteFile("j.qrels", []byte("img7 0 img1 2\nimg7 0 img4 1\n"), 0o644))
	for _, c := range []struct{ args, file, want string }{
		{"retrieved --images photos --query 7,img12 --top-k 59 --out r.png" + vectors, "r.csv", "\nimg12,59,"},
		{"retrieved --images photos --qrels j.qrels --query 7 --top-k 2 -o junk=false --out j.svg" + vectors, "j.csv",
			"\nimg7,2,"},
		{"examples --data photos -o each=3 -o class=k1,k2 --out x.svg", "x.csv", "k2,k2/img"},
		{"retrieved --images photos --query 7 --top-k 58 --out r.pdf" + vectors, "r.csv", "\nimg7,58,"},
		{"retrieved --images photos --query 7 --top-k 59 --out r.pdf" + vectors, "r.csv", "\nimg7,59,"}, // over its own
		{"bounds -o positives=2 -o negatives=2 -o violations=0.5 -o batches=2", "bounds.csv", "\n2,18.3333333,16.6666667\n"},
		{"toy", "toy.csv", "\ngap,,,,18.3333333\n"}, // 1 − (1 + 1 + 3/5 + 4/6)/4
	} {
		code, out, errs := run(t, strings.Fields("figure "+c.args)...)
		text, err := os.ReadFile(c.file)
		if code != 0 || err != nil || !strings.Contains(string(text), c.want) {
			t.Errorf("%s: exit code %d, %v, want %q\n%s%s%.300s", c.args, code, err, c.want, out, errs, text)
		}
	}
	must.Do(t, os.MkdirAll("twice/a", 0o755))
	for _, path := range []string{"twice/img1.png", "twice/a/img1.png"} {
		must.Do(t, os.WriteFile(path, nil, 0o644))
	}
	for args, want := range map[string]string{
		"retrieved --images twice --query img1" + vectors:                                   `2 images are called "img1"`,
		"retrieved --images photos" + vectors:                                               "needs --images and --query",
		"retrieved --images photos --query 1 -o qrels_usage=easy" + vectors:                 "add --qrels",
		"retrieved --images photos --query 1 --qrels j.qrels -o qrels_usage=hard" + vectors: "a column Usage",
		"retrieved --images photos --query nosuch" + vectors:                                "or its row from 0 to 59",
		"retrieved --images photos --query 1 --top-k 0" + vectors:                           "top_k is 0",
		"retrieved --images photos --query 1 -o side=1" + vectors:                           "side is 1",
		"retrieved --images photos/k0 --query img1 --top-k 3" + vectors:                     `no image is called "img1"`,
		"examples --data photos -o class=k9":                                                `unknown class "k9"`,
		"examples --data photos --level kidn":                                               "unknown level",
		"toy --query 1":                                                                     "has no setting query",
		"toy -o batch=1+":                                                                   "one batch has no gap",
		"toy -o batch=1+ -o batch=1":                                                        `"1" is no item`,
		"bounds -o violations=2":                                                            "violations is 2",
		"means -o method=umap" + vectors:                                                    "method is \"umap\"",
		"landscape --sizes 10 --loss nosuch" + vectors:                                      `unknown loss "nosuch"`,
		"landscape --sizes 10 -o cells=2" + vectors:                                         "2 cells with a reach of 1",
	} {
		says(t, exitUsage, want, strings.Fields("figure "+args+" --replace")...)
	}
}

// The font of PNG and PDF has no Chinese letters, and the viewer of an SVG may have them.
func TestFiguresSayWhichLettersTheirFontLacks(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	embeddingFiles(t)
	must.Do(t, os.Rename("e.npy", "長城.npy"))
	for file, want := range map[string]bool{"f.png": true, "f.pdf": true, "f.svg": false} {
		code, _, errs := run(t, strings.Fields("figure curves --embeddings 長城.npy --labels l.csv --query 0 --out "+file)...)
		if code != 0 || strings.Contains(errs, `no letters "長城"`) != want {
			t.Errorf("%s: code %d, %s", file, code, errs)
		}
	}
}
