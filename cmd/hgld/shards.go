package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"hgld/internal/filelock"
	"hgld/internal/img"
	"hgld/internal/objectstore/address"
	"hgld/internal/pipeline"
	"hgld/internal/registry"
	"hgld/internal/settings"
	"hgld/internal/spelling"
	"hgld/internal/terminal"
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
	Split          string            `yaml:"split" usage:"split of the images, if no column or folder says it"`
	SplitFolders   []string          `yaml:"split_folders" usage:"dataset folder: FOLDER=SPLIT for each top folder that is a split; none: top folders are classes; dataset parquet: NAME=SPLIT for file names"`
	Uneven         string            `yaml:"uneven" usage:"images that lack levels: refuse, keep (a missing level says nothing), or, of dataset folder, repeat (the innermost folder is also the class of the missing levels)"`
	NoClass        settings.TextList `yaml:"no_class" usage:"cells of a table that mean no class besides the empty one and -1; empty: also nan, None, NA and their kin. The word empty makes -1 a class"`
	Out            string            `yaml:"out" path:"out" kind:"a data set" store:"s3" usage:"folder to write, or s3://bucket/prefix"`
	Shards         int               `yaml:"shards" range:"0 100000" usage:"number of shards per split; 0: decided by the next two settings"`
	ImagesPerShard int               `yaml:"images_per_shard" range:"0 1e8" usage:"images per shard; 0: limited by shard_size"`
	ShardSize      string            `yaml:"shard_size" usage:"maximum size of a shard, such as 500MB or 1GB"`
	ShortSide      int               `yaml:"short_side" range:"0 16384" usage:"shrink the short side of larger images to this, as JPEG; 0: keep every file unchanged, except HEIC and AVIF"`
	Quality        int               `yaml:"quality" range:"1 100" usage:"JPEG quality of shrunk images, 1 to 100"`
	HeadersOnly    bool              `yaml:"headers_only" usage:"do not decode images that are stored unchanged: faster, but broken ones go unnoticed"`
	Attribution    bool              `yaml:"attribution" usage:"reject training images without author or licence; always on for gldv2"`
	Unattributed   bool              `yaml:"allow_unattributed" usage:"accept gldv2's training images without author or licence, and mark them as unattributed"`
	Subset         string            `yaml:"subset" usage:"gldv2: training images of train_clean.csv (clean) or of train.csv (full); empty: clean if its list is there"`
	Exclude        string            `yaml:"exclude" path:"in" usage:"leave out the images that this file lists, one id or path per line"`
	Taxonomy       string            `yaml:"taxonomy" path:"in" usage:"CSV of coarser levels: a column for the coarsest level of the images, and one for each above it"`
	Labelled       bool              `yaml:"labelled" usage:"take only images that have a class at every level"`
	AllowMissing   float64           `yaml:"allow_missing" range:"0 1" usage:"share of images that may be missing or broken, 0 to 1"`
	Workers        int               `yaml:"workers" range:"0 1024" usage:"images prepared at the same time; 0: one per processor (the result does not depend on it)"`
	Columns        dataset.Columns   `yaml:"columns"`
}

func shardsStage() pipeline.StageOf[shardsSettings] { return shardsStageOf(false, "") }

// shardsStageOf returns the stage. Without replace, it keeps a data set that others depend on. Shards that are being
// written lie in the folder scratch, if it is not empty.
func shardsStageOf(replace bool, scratch string) pipeline.StageOf[shardsSettings] {
	return pipeline.New(pipeline.Spec[shardsSettings]{
		Name: "shards", Command: "shards build",
		Defaults: shardsSettings{Dataset: "csv", Input: "images.csv", Out: "shards", Split: string(labels.Train),
			Uneven: "refuse", ShardSize: "500MB", ShortSide: 256, Quality: 95, AllowMissing: 0.01},
		Files: func(s *shardsSettings) (in, out []string) {
			return []string{s.Input, s.Images, s.Labels, s.Hierarchy, s.Exclude, s.Taxonomy}, []string{s.Out}
		},
		Found: (*shardsSettings).imageFolders,
		Run:   onJob(func(j *job, s *shardsSettings) error { return runShardsBuild(j, s, replace, scratch) }),
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

// shardsBuildCommand is the command of the stage plus the flag --replace, which applies to
// one invocation and is therefore not a setting.
func shardsBuildCommand() *cli.Command {
	cmd := stageCommand(shardsStage().Stage, "build",
		"write images and classes as Parquet; after a stop, the same command continues", shardsBuildExamples())
	cmd.Flags = append(cmd.Flags, memoryFlag(), scratchFlag())
	cmd.Action = func(c *cli.Context) error {
		if err := limitMemory(c); err != nil {
			return err
		}
		return stageAction(shardsStageOf(c.Bool("replace"), c.String("scratch")).Stage)(c)
	}
	return cmd
}

func shardsCommand() *cli.Command {
	return group("shards", "stage 4: images + classes -> Parquet, for training and for the Hub",
		"  hgld shards build --dataset folder --input photos     class folders -> shards/\n"+
			"  hgld shards ls                                        files, rows and classes\n"+
			"  hgld shards cat --split train --row 17                a row as JSON\n"+
			"  hgld shards verify                                    compare every byte with its hash",
		shardsBuildCommand(),
		shardsFetchCommand(), shardsPlanCommand(), shardsSliceCommand(),
		shardsFinishCommand(), shardsLsCommand(), shardsCatCommand(),
		shardsVerifyCommand(), shardsCardCommand(), shardsConvertCommand(),
	)
}

func shardsBuildExamples() string {
	text := "  hgld shards build --dataset folder --input photos               photos/fruit/apple/1.jpg: two levels\n" +
		"  hgld shards build --input photos.csv --levels fine,coarse       paths and label columns\n" +
		"  hgld shards build --input photos.csv --images photos.zip …      read the images from the archive\n" +
		"  hgld shards build --input images.csv --labels labels.csv        landmarks with the labels of stage 3\n" +
		"  hgld shards build --dataset sop --input Stanford_Online_Products\n" +
		"  hgld shards build --dataset inaturalist --input inat2018 --levels species,group\n" +
		"  hgld shards build --short-side 0                                keep every file byte for byte\n" +
		"  hgld shards build --allow-missing 0.05                          accept up to 5 % missing or broken images\n" +
		"\nDATA SETS:\n"
	for _, e := range dataset.All {
		text += fmt.Sprintf("  %-12s %s\n", e.Name, e.About)
	}
	return strings.TrimSuffix(text, "\n")
}

// openSource opens the data set named in the settings. wanted tells of which groups everything is needed; nil: of all.
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
	j.say("reading %s", s.Input)
	src, err := importer.Open(j.ctx, dataset.Settings{Input: s.Input, Images: s.Images, Labels: s.Labels,
		Levels: s.Levels, Split: labels.Split(s.Split), Columns: s.Columns, SplitFolders: s.SplitFolders,
		Uneven: s.Uneven, NoClass: s.NoClass, Subset: s.Subset, Wanted: wanted, Extensions: img.HEIFExtensions(o.HEIF)})
	if err != nil {
		return nil, nil, sourceError(err)
	}
	if known, ok := src.(interface{ Notes() []string }); ok {
		j.sayAll("note: %s", known.Notes())
	}
	if s.Taxonomy != "" {
		taller, err := dataset.Below(j.ctx, src, s.Taxonomy, s.NoClass)
		if err != nil {
			return nil, nil, errors.Join(sourceError(err), src.Close())
		}
		src = taller
	}
	if err := checkLevelCount(src.Levels()); err != nil {
		return nil, nil, errors.Join(err, src.Close())
	}
	if s.Labelled {
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

// runShardsBuild runs `hgld shards build`.
func runShardsBuild(j *job, s *shardsSettings, replace bool, scratch string) error {
	if err := checkScratch(scratch, s.Out); err != nil {
		return err
	}
	src, o, err := s.openSource(j, nil)
	if err != nil {
		return err
	}
	o.Replace, o.Scratch = replace, scratch
	if o.Made, err = s.provenance(j); err != nil {
		return errors.Join(err, src.Close())
	}
	end := showImages(j, o)
	result, err := shards.Build(j.ctx, src, s.Out, *o)
	end()
	if err := errors.Join(err, src.Close()); err != nil {
		listRefused(j, err)
		return shardsError(err)
	}
	s.sayUnknown(j, src)
	if j.json {
		err = writeJSON(j, result.Manifest.Summary())
	} else {
		printBuilt(j, s, result)
	}
	return errors.Join(err, failureError(result.Failures,
		s.Out+"/"+shards.FailuresFile+" lists them; repair them and run the same command again"))
}

// sayUnknown counts the images of the list exclude that the data set does not have.
func (s *shardsSettings) sayUnknown(j *job, src shards.Source) {
	if w, is := src.(*dataset.Excluding); is && w.Unknown() > 0 {
		j.say("note: %s of %s without an image in the data set", count(w.Unknown(), "line"), s.Exclude)
	}
}

// showImages shows the number of finished images.
func showImages(j *job, o *shards.Options) (end func()) {
	var bar *terminal.Progress
	o.Progress = func(done, total int, shard string) {
		if bar == nil {
			bar = j.progress("images", total)
		}
		bar.Set(done, shard)
	}
	return func() {
		if bar != nil {
			bar.End()
		}
	}
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
	o.HEIF = decoder.HEIF
	if s.Hierarchy != "" {
		if o.Hierarchy, err = labels.OpenHierarchy(s.Hierarchy); err != nil {
			return nil, err
		}
	}
	return &o, nil
}

// options are the options for which no file has to be read.
func (s *shardsSettings) options(j *job) (o shards.Options, err error) {
	o = shards.Options{Tool: "hgld " + version, Taxonomy: writeTaxonomy, Workers: s.Workers}
	o.AllowMissing = s.AllowMissing
	o.Shards, o.ImagesPerShard, o.Limit = s.Shards, s.ImagesPerShard, j.limit
	o.ShortSide, o.HeadersOnly = s.ShortSide, s.HeadersOnly
	o.Attribution = s.Attribution || s.Dataset == "gldv2" && !s.Unattributed
	o.MarkUnattributed = s.Dataset == "gldv2" && s.Unattributed
	if s.ShortSide > 0 {
		o.Quality = s.Quality
	}
	if o.Workers == 0 {
		o.Workers = runtime.GOMAXPROCS(0)
	}
	if s.Attribution && s.Unattributed {
		return o, usagef("attribution and allow_unattributed exclude each other")
	}
	o.ShardBytes, err = s.shardBytes()
	return o, err
}

// shardsError adds the next steps that hold for data sets alone.
func shardsError(err error) error {
	var two *labels.ParentsError
	switch {
	case errors.As(err, new(*filelock.LockedError)):
		return withHint(err, "wait for that process, or stop it: its finished shards are kept")
	case errors.As(err, &two) && slices.Contains(two.Parents[:], ""):
		return withHint(err, "fill in the class, or pass --uneven keep: a missing level then says nothing (docs/labels.md)")
	case errors.As(err, &two):
		return withHint(err, "`hgld labels check` lists all such rows of the label file")
	}
	return err
}

// listRefused prints the images that kept a data set from being published: all of them as
// JSON, or the first few as text.
func listRefused(j *job, err error) {
	var refused *shards.RefusedError
	switch {
	case !errors.As(err, &refused):
	case j.json:
		refused.WriteJSON(j.stdout) // the command returns the refusal as its error
	case len(refused.Failures) > 1: // if there is only one, the error names it
		j.say("%s", refused.List(10, "--json prints all"))
	}
}

func printBuilt(j *job, s *shardsSettings, r *shards.Result) {
	j.sayAll("note: %s", r.Notes)
	j.print("%s", r.Manifest.BuiltText())
	if r.Kept > 0 {
		j.say("%s there already", count(r.Kept, "shard"))
	}
	j.print("%s written\n", s.Out)
}

// failureError returns an error that counts the missing images by reason, nil for none.
func failureError(failures []shards.Failure, hint string) error {
	if len(failures) == 0 {
		return nil
	}
	err := fmt.Errorf("shards build: %s left out (%s)", count(len(failures), "image"), shards.CountFailures(failures))
	return withHint(withCode(exitSomeFailed, err), "%s", hint)
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
		return withHint(err, "--no-class %s says that it means no class, --no-class=-1 that it is one", word(cell.Word))
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
	if info, other := os.Stat(s.Input); err == nil && s.Dataset == "csv" && other == nil && info.IsDir() {
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
