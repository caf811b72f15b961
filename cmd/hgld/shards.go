package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/classes"
	"hgld/internal/filelock"
	"hgld/internal/img"
	"hgld/internal/objectstore/address"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/internal/spelling"
	"hgld/labels"
	"hgld/shards"
	"hgld/shards/dataset"
	"hgld/train/retrieval"
)

// shardsSettings are the settings of the stage shards.
type shardsSettings struct {
	Dataset        string            `yaml:"dataset" usage:"importer: csv (one row per image), folder (class folders), or a published data set: see below"`
	Input          string            `yaml:"input" path:"in" usage:"the CSV, the folder, .zip or .tar of class folders or of a published data set, or a folder of Parquet files"`
	Images         string            `yaml:"images" path:"in" usage:"folder, .zip or .tar with the images, if they are not next to the CSV or the data set's lists"`
	Labels         string            `yaml:"labels" path:"in" usage:"label file of stage 3, joined by the CSV's landmark_id"`
	Hierarchy      string            `yaml:"hierarchy" path:"in" usage:"hierarchy.json that numbers the classes; empty: number them in the order of the images"`
	Levels         []string          `yaml:"levels" usage:"label columns or level names, finest first; for a published data set: the levels to read"`
	Split          string            `yaml:"split" usage:"split of the images that no column or folder assigns to one"`
	SplitFolders   []string          `yaml:"split_folders" flag:"-" usage:"dataset folder: FOLDER=SPLIT for each top folder that is a split; none: top folders are classes; dataset parquet: NAME=SPLIT for file names"`
	PartialLabels  string            `yaml:"partial_labels" usage:"images that lack levels: refuse, keep (a missing level is unknown), drop or, for class folders, repeat (the innermost folder is also the class of the missing levels)"`
	NAValues       settings.TextList `yaml:"na_values" usage:"cells of a table that mean no class, besides empty ones and -1; unset: also nan, None, NA and similar; empty: only empty cells, so -1 is a class"`
	Out            string            `yaml:"out" path:"out" kind:"a data set" store:"true" usage:"folder to write, or {store}"`
	Shards         int               `yaml:"shards" flag:"-" range:"0 100000" usage:"number of shards per split; 0: decided by the next two settings"`
	ImagesPerShard int               `yaml:"images_per_shard" range:"0 1e8" usage:"images per shard; 0: limited by shard_size"`
	ShardSize      string            `yaml:"shard_size" usage:"maximum size of a shard, such as 500MB or 1GB"`
	ShortSide      int               `yaml:"short_side" range:"0 16384" usage:"shrink the short side of larger images to this, as JPEG; 0: keep every file unchanged, except HEIC and AVIF"`
	Quality        int               `yaml:"quality" flag:"-" range:"1 100" usage:"JPEG quality of shrunk images, 1 to 100"`
	HeadersOnly    bool              `yaml:"headers_only" flag:"-" usage:"do not decode images that are stored unchanged: faster, but broken ones go unnoticed"`
	Unattributed   bool              `yaml:"allow_unattributed" usage:"accept gldv2's training images without author or licence, and mark them as unattributed"`
	Subset         string            `yaml:"subset" usage:"gldv2: training images of train_clean.csv (clean) or of train.csv (full); empty: clean if its list exists"`
	Exclude        string            `yaml:"exclude" path:"in" usage:"leave out the images that this file lists, one id or path per line, or as a table with the columns id and path"`
	Taxonomy       string            `yaml:"taxonomy" path:"in" usage:"CSV of coarser levels: a column for the coarsest level of the images, and one for each above it"`
	AllowMissing   float64           `yaml:"allow_missing" range:"0 1" usage:"share of images that may be missing or broken, 0 to 1"`
	Columns        dataset.Columns   `yaml:"columns"`
}

func shardsStage() pipeline.StageOf[shardsSettings] { return shardsStageOf(shardsBuild{}) }

// shardsStageOf returns the stage as the flags of b want it.
func shardsStageOf(b shardsBuild) pipeline.StageOf[shardsSettings] {
	return pipeline.New(pipeline.Spec[shardsSettings]{
		Name: "shards", Command: "shards build",
		Defaults: shardsSettings{Dataset: "csv", Input: "images.csv", Out: "shards", Split: string(labels.Train),
			PartialLabels: classes.RefusePartial, ShardSize: "500MB", ShortSide: 256, Quality: 95, AllowMissing: 0.01},
		Files: func(s *shardsSettings) (in, out []string) {
			return []string{s.Input, s.Images, s.Labels, s.Hierarchy, s.Exclude, s.Taxonomy}, []string{s.Out}
		},
		Found: (*shardsSettings).imageFolders,
		Run:   onJob(b.run),
		Check: (*shardsSettings).check,
	})
}

// check finds an unknown data set or subset, and a wrong size of the shards.
func (s *shardsSettings) check() error {
	if _, err := s.importer(); err != nil {
		return err
	}
	_, err := s.shardBytes()
	return err
}

// shardBytes returns the largest size of a shard, or 0 if another setting decides it.
func (s *shardsSettings) shardBytes() (int64, error) {
	if s.Shards > 0 || s.ImagesPerShard > 0 {
		return 0, nil
	}
	size, err := shards.ParseSize(s.ShardSize)
	if err != nil {
		return 0, usagef("shard_size: %w", err)
	}
	return size, nil
}

func shardsCommand() *cli.Command {
	return group("shards", "stage 4: images + classes -> Parquet, for training and for the Hub",
		"  hgld shards build --dataset folder --input photos     class folders -> shards/\n"+
			"  hgld shards show                                      files, rows and classes\n"+
			"  hgld shards cat --split train --row 17                a row as JSON\n"+
			"  hgld shards check                                     compare every byte with its hash",
		shardsBuildCommand(),
		shardsFetchCommand(), shardsShowCommand(), shardsCatCommand(),
		shardsCheckCommand(), shardsCardCommand(), shardsConvertCommand(),
	)
}

// openSource opens the data set named in the settings. wanted reports whether everything of a group is needed; nil: it
// always is.
func (s *shardsSettings) openSource(j *job, wanted func(group int) bool) (shards.Source, *shards.Options, error) {
	if s.Shards > 0 { // they do not follow the groups
		wanted = nil
	}
	o, err := shardsOptions(j, s)
	if err != nil {
		return nil, nil, err
	}
	importer, err := s.importer()
	if err != nil {
		return nil, nil, err
	}
	if err := s.outInInput(); err != nil {
		return nil, nil, err
	}
	j.log("reading %s", s.Input)
	src, err := importer.Open(j.ctx, dataset.Settings{Input: s.Input, Images: s.Images, Labels: s.Labels,
		Levels: s.Levels, Split: labels.Split(s.Split), Columns: s.Columns, SplitFolders: s.SplitFolders,
		PartialLabels: s.PartialLabels, NAValues: s.NAValues, Subset: s.Subset, Wanted: wanted,
		Extensions: img.HEIFExtensions(o.HEIF)})
	if err != nil {
		return nil, nil, sourceError(err)
	}
	if known, ok := src.(interface{ Notes() []string }); ok {
		j.logAll("note: %s", known.Notes())
	}
	if s.Taxonomy != "" {
		taller, err := dataset.Below(j.ctx, src, s.Taxonomy, s.NAValues)
		if err != nil {
			return nil, nil, errors.Join(sourceError(err), src.Close())
		}
		src = taller
	}
	if err := checkLevelCount(src.Levels()); err != nil {
		return nil, nil, errors.Join(err, src.Close())
	}
	if s.PartialLabels == dataset.DropPartial {
		src = dataset.Labelled(src)
	}
	if s.Exclude != "" {
		without, err := dataset.Without(j.ctx, src, s.Exclude)
		if err != nil {
			return nil, nil, errors.Join(err, src.Close())
		}
		src = without
	}
	return src, o, nil
}

// shardsOptions converts the settings to the package's options.
func shardsOptions(j *job, s *shardsSettings) (*shards.Options, error) {
	o, err := s.options(j)
	if err != nil {
		return nil, err
	}
	decoder, _, err := imageDecoder()
	if err != nil {
		return nil, err
	}
	o.HEIF, o.JPEG = decoder.HEIF, decoder.JPEG
	if s.Hierarchy != "" {
		if o.Hierarchy, err = labels.OpenHierarchy(s.Hierarchy); err != nil {
			return nil, err
		}
	}
	return &o, nil
}

// options are the options for which no file has to be read.
func (s *shardsSettings) options(j *job) (o shards.Options, err error) {
	o = shards.Options{Tool: "hgld " + version, Taxonomy: writeTaxonomy, Workers: j.threads}
	o.AllowMissing = s.AllowMissing
	o.Shards, o.ImagesPerShard, o.Limit = s.Shards, s.ImagesPerShard, j.limit
	o.ShortSide, o.HeadersOnly = s.ShortSide, s.HeadersOnly
	o.Attribution = s.Dataset == "gldv2" && !s.Unattributed
	o.MarkUnattributed = s.Dataset == "gldv2" && s.Unattributed
	if s.ShortSide > 0 {
		o.Quality = s.Quality
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	o.ShardBytes, err = s.shardBytes()
	return o, err
}

// shardsError adds the next steps for errors of data sets.
func shardsError(err error) error {
	var two *labels.ParentsError
	switch {
	case errors.As(err, new(*filelock.LockedError)):
		return withHint(err, "wait for that process, or stop it; its finished shards are kept")
	case errors.As(err, &two) && slices.Contains(two.Parents[:], ""):
		return withHint(err, "fill in the class, or pass --partial-labels keep: a missing level is then unknown "+
			"(docs/label-semantics.md)")
	case errors.As(err, &two):
		return withHint(err, "`hgld labels check` lists all such rows of the label file")
	}
	return err
}

// outInInput returns an error if the output is inside the class folders, because the next
// build would read it as images. Other data sets list their images by name.
func (s *shardsSettings) outInInput() error {
	if s.Dataset != "folder" || address.Is(s.Out) {
		return nil
	}
	for key, in := range map[string]string{"input": s.Input, "images": s.Images} {
		if inside, err := dataset.Within(in, s.Out); err != nil {
			return err
		} else if inside {
			return withHint(usagef("out is %s, which is inside %s, %s: the next build would read the data set as images",
				s.Out, key, in), "name a folder next to it: --out %s", word(nextTo(in, "-shards")))
		}
	}
	return nil
}

// sourceError adds exit codes and hints to the errors of an importer.
func sourceError(err error) error {
	var cell *spelling.MissingError
	switch {
	case errors.As(err, new(*registry.UnknownError)):
		return withCode(exitUsage, err)
	case errors.As(err, &cell):
		return withHint(err, "--na-values %s if it means no class, --na-values=-1 if it is a class", word(cell.Word))
	}
	return err
}

// importer returns the importer of the data set. It returns a usage error if the data set
// is csv and the input is a folder, and for a subset that the data set does not have.
func (s *shardsSettings) importer() (dataset.Importer, error) {
	if s.Subset != "" && s.Dataset != "gldv2" {
		return nil, usagef("subset is %.80q, but %s has no subsets; gldv2 has", s.Subset, s.Dataset)
	}
	if s.Subset != "" && !slices.Contains(dataset.GLDv2Subsets, s.Subset) {
		return nil, withCode(exitUsage, fmt.Errorf("subset: %w", registry.Unknown("subset", s.Subset, dataset.GLDv2Subsets)))
	}
	importer, err := dataset.Find(s.Dataset)
	if info, other := os.Stat(s.Input); err == nil && s.Dataset == "csv" && other == nil && info.IsDir() &&
		dataset.Kind(s.Input) != "csv" {
		err = withHint(fmt.Errorf("input is the folder %s, but the data set csv reads a table", s.Input),
			"use --dataset %s to read it; read a published data set by its own name", word(dataset.Kind(s.Input)))
	}
	return importer, withCode(exitUsage, err)
}

// imageFolders returns the folders next to a CSV that contain its images.
func (s *shardsSettings) imageFolders() ([]string, error) {
	if s.Dataset != "csv" || s.Images != "" {
		return nil, nil
	}
	return dataset.ImageFolders(s.Input, s.Columns.Path)
}

// checkLevelCount returns an error for more levels than training and evaluation support.
func checkLevelCount(levels []string) error {
	if n := len(levels); n > retrieval.MostLevels {
		return usagef("there are %d levels; want at most %d: name fewer with --levels", n, retrieval.MostLevels)
	}
	return nil
}

// shardsArgument is the advice on an argument to `hgld shards build`, which takes none.
func shardsArgument(path string) string {
	if _, err := os.Stat(path); err == nil && !strings.HasSuffix(path, ".csv") {
		return "hgld shards build --dataset folder --input " + word(path)
	}
	return "hgld shards build --input " + word(path)
}

// shardsAdvice has the exit codes and next steps for errors of a data set in shards.
var shardsAdvice = []advice{
	kind(exitLocked, func(*shards.ConcurrentBuildError) string {
		return "let one of the processes write to another place (--out), and run the same command again"
	}),
	kind(exitOK, func(e *shards.UnfinishedError) string {
		if e.NoFolder {
			return "`hgld shards build` writes one"
		}
		return "`hgld shards build` finishes it"
	}),
	kind(exitOK, refusedBuild),
	kind(exitTemporary, func(*shards.ReadError) string {
		return "no image was left out; run the same command again once the file can be read"
	}),
	kind[*shards.InputError](exitIntegrity, nil),
	kind(exitIntegrity, func(e *shards.DamageError) string {
		if e.File == shards.WebDatasetFile || strings.HasSuffix(e.File, ".tar") {
			return "`hgld shards convert` writes the folder again"
		}
		return "`hgld shards check` shows the extent of the damage"
	}),
}

// refusedBuild is the hint for a build that was not published.
func refusedBuild(e *shards.RefusedError) string {
	switch {
	case e.Fewer:
		return "the finished data set is unchanged; repair the input, write to another folder (--out), " +
			"or replace it: `hgld shards build --replace`"
	case len(e.Failures) == e.Images:
		return "check the paths of the images, or name their folder with --images"
	}
	return fmt.Sprintf("repair them, or allow their absence: --allow-missing %g (in hgld.yaml: shards.allow_missing)",
		e.Share())
}
