package demo

import (
	"bytes"
	"fmt"
	"time"

	"hgld/curate"
	"hgld/internal/atomicfile"
	"hgld/scrape/testing/fakecommons"
)

// clusters is the number of clusters in the draft.
const clusters = 28

// The logs of the two curators and of the adjudicator.
const (
	annaLog  = "edits-anna.jsonl"
	borisLog = "edits-boris.jsonl"
	finalLog = "edits-final.jsonl"
)

// projectText is the demo's hgld.yaml, which sets only what differs from the defaults.
const projectText = `# The demo's project. hgld config show --origin lists everything that is in force.
hgld: 1
device: %s
threads: %d
scrape:
  split: train
  base_url: %s   # gone when the demo ends; its pages are kept in scrape/
  rate: 0
embed:
  encoder: hashing   # needs no weights
cluster:
  k: %d
curate:
  logs: [edits-anna.jsonl, edits-boris.jsonl, edits-final.jsonl]
shards:
  dataset: csv
  input: images.csv
  labels: labels.csv
  shards: 3
train:
  out: runs/happier
  hold_out: 0.33
  input: {size: %d, crop: padded, resize: %d}
  model:
    backbone: {name: convnet, settings: {widths: [16, 32, 64], strides: [2, 2, 1]}}
    dim: 64
  sampler: {name: m-per-class, batch: 64, m: 4}
  loss: {name: happier}
  optim: {lr: 0.003}
  steps: %d
eval:
  run: runs/happier
`

// scrape serves the local Commons and reads its pages.
func (d *demo) scrape() error {
	var categories bytes.Buffer
	pages := d.world.pages()
	if err := fakecommons.WriteCSV(&categories, pages[:len(d.world.landmarks)]); err != nil {
		return err
	}
	if err := atomicfile.WriteFile(d.path("categories.csv"), categories.Bytes()); err != nil {
		return err
	}
	url, stop, err := serveCommons(pages)
	if err != nil {
		return err
	}
	defer stop()
	project := fmt.Sprintf(projectText, d.o.Device, d.o.Threads, url, clusters, pictureSize-8, pictureSize-8, d.o.Steps)
	if err := atomicfile.WriteFile(d.path("hgld.yaml"), []byte(project)); err != nil {
		return err
	}
	command, _, err := d.hgld(12, "scrape run")
	if err != nil {
		return err
	}
	d.note("scrape", command, "%d category pages read", len(d.world.landmarks))
	return nil
}

// cluster embeds the tags and groups them.
func (d *demo) cluster() error {
	if _, _, err := d.hgld(0, "embed"); err != nil {
		return err
	}
	command, _, err := d.hgld(6, "cluster run")
	if err != nil {
		return err
	}
	d.note("cluster", command, "%d clusters of tags with similar text", clusters)
	return nil
}

// curate compares the two curators and applies the adjudicated result.
func (d *demo) curate() error {
	comparison, err := d.curateBlind()
	if err != nil {
		return err
	}
	agree, _, err := d.hgld(12, "curate agree", inProject+annaLog, inProject+borisLog)
	if err != nil {
		return err
	}
	apply, _, err := d.hgld(8, "curate apply")
	if err != nil {
		return err
	}
	of := comparison.Pairs[0]
	d.note("curate", agree, "raw agreement %s, Cohen's kappa %s, AC1 %s; %d tags adjudicated",
		figure(of.Raw), figure(of.Kappa), figure(of.AC1), len(comparison.Differences))
	d.note("", apply, "hierarchy.json: %d supercategories, %d kinds", len(d.world.groups), len(curate.Kinds))
	return nil
}

// labels writes a label for every landmark.
func (d *demo) labels() error {
	command, _, err := d.hgld(14, "labels build")
	if err != nil {
		return err
	}
	d.note("labels", command, "labels.csv, and unlabelled.csv with a reason for every landmark that has none")
	return nil
}

// shards draws the pictures and writes them as Parquet.
func (d *demo) shards() error {
	pictures, err := drawLandmarks(d.dir, d.world)
	if err != nil {
		return err
	}
	command, _, err := d.hgld(4, "shards build")
	if err != nil {
		return err
	}
	d.note("shards", command, "%d pictures in 3 shards", pictures)
	return nil
}

// models lists the two models of the demo.
var models = []string{"smooth-ap", "happier"}

// training holds the flags for each model. HAPPIER uses the settings of hgld.yaml.
var training = map[string][]string{
	"smooth-ap": {"-o", "loss.name=smooth-ap", "--out", inProject + "runs/smooth-ap"},
	"happier":   nil,
}

// train trains both models.
func (d *demo) train() error {
	for _, name := range models {
		start := time.Now()
		command, _, err := d.hgld(0, "train run", training[name]...)
		if err != nil {
			return err
		}
		d.log("    %s: %d steps in %.1f s\n", name, d.o.Steps, time.Since(start).Seconds())
		d.note("train", command, "%s, %d steps on the CPU", name, d.o.Steps)
	}
	return nil
}
