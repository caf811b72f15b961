package main

// faultStage is a command whose every call is made to fail.
type faultStage struct {
	name string
	args []string

	// without are the files that the command does not find, patterns of the finished
	// project. Where they are its own outputs it writes them for the first time; else it
	// replaces those that stand there.
	without []string

	code  int  // that it ends with
	says  bool // what it prints is its result
	quiet bool // it may ask the site for nothing
	first bool // it is tried where one fault is: a database, a log, a data set, checkpoints, and one file
}

// faultStages are the commands that read or write state, for the first time and over
// what stands there already.
func faultStages() []faultStage {
	args := func(args ...string) []string { return args }
	stamped := func(stage string, more ...string) []string { return append(more, ".hgld/"+stage+".json") }
	return []faultStage{
		{name: "scrape run", first: true, args: args("scrape", "run"), without: stamped("scrape", "tags.jsonl", "scrape/")},
		{name: "scrape run again", args: args("scrape", "run", "--policy", "all"), quiet: true},
		{name: "scrape run --reparse", args: args("scrape", "run", "--reparse", "-o", "paper_text=true"), quiet: true},
		{name: "scrape check", args: args("scrape", "check"), says: true, quiet: true},
		{name: "scrape import", args: args("scrape", "import", "--split", "train", "rows.csv")},
		{name: "embed", args: args("embed"), without: stamped("embed", "vectors.safetensors", ".hgld/vectors/")},
		{name: "embed again", args: args("embed", "--prompt", "photo")},
		{name: "cluster run", args: args("cluster", "run"), without: stamped("cluster", "draft.json")},
		{name: "cluster run again", args: args("cluster", "run", "--k", "3", "--replace")},
		{name: "cluster run beside", args: args("cluster", "run", "--k", "3"), code: exitFailed}, // a curated draft stays
		{name: "curate import", first: true,
			args: args("curate", "import", "--log", "ben.jsonl", "--by", "ben", "sheet.csv")},
		{name: "curate import again", args: args("curate", "import", "--log", "anna.jsonl", "moves.csv")},
		{name: "curate propose", args: args("curate", "propose", "--log", "anna.jsonl", "--min-margin", "0")},
		{name: "curate export", args: args("curate", "export", "--replace", "--to", "skos", "hierarchy.json", "places.ttl")},
		{name: "curate apply", args: args("curate", "apply"), without: stamped("curate", "hierarchy.json")},
		{name: "curate apply again", args: args("curate", "apply", "-o", "undecided=true")},
		{name: "labels build", args: args("labels", "build"),
			without: stamped("labels", "labels.csv", "unlabelled.csv")},
		{name: "labels build again", args: args("labels", "build", "--include-unlabelled")},
		{name: "shards build", first: true, args: args("shards", "build"), without: stamped("shards", "shards/")},
		{name: "shards build again", args: args("shards", "build", "--short-side", "8", "-o", "quality=80")},
		{name: "shards check", args: args("shards", "check"), says: true},
		{name: "shards show", args: args("shards", "show"), says: true},
		{name: "train run", first: true, args: args("train", "run"), without: stamped("train", "runs/")},
		{name: "train resume", args: args("train", "run", "--steps", "3")},
		{name: "study run", args: args("study", "run", "study.yaml")},
		{name: "eval run", first: true, args: args("eval", "run"), without: stamped("eval", "eval.json")},
		{name: "eval run again", args: args("eval", "run", "--metrics", "R@1")},
		{name: "eval run --export", args: args("eval", "run", "--export", "exported")},
		{name: "embed-images --run",
			args:    args("embed-images", "--run", "runs/default", "--out", "found.npy", "images"),
			without: []string{"found.npy", "found.csv"}},
		{name: "embed-images --run again",
			args: args("embed-images", "--run", "runs/default", "--out", "found.npy", "shards")},
		{name: "embed-images", args: published("images"), without: []string{"zero.npy", "zero.csv"}},
		{name: "embed-images again", args: published("shards")},
		{name: "search", args: args("search", "--index", "found.npy", "images/0_0.jpg"), says: true},
		{name: "search --report", args: args("search", "--index", "found.npy", "--id", "0_0.jpg", "--report", "found.html")},
		{name: "status", args: args("status"), says: true},
		{name: "run", args: args("run"), without: []string{
			"tags.jsonl", ".hgld/scrape.json", "draft.json", ".hgld/cluster.json", "labels.csv", ".hgld/labels.json",
			"shards/", ".hgld/shards.json", "runs/", ".hgld/train.json", "eval.json", ".hgld/eval.json",
		}},
	}
}

// finished is the project with every stage done.
var finished = [][]string{
	{"scrape", "run"}, {"embed"}, {"cluster", "run"},
	{"curate", "import", "--log", "anna.jsonl", "--by", "anna", "sheet.csv"},
	{"curate", "import", "--log", "anna.jsonl", "kinds.csv"}, {"curate", "apply"},
	{"labels", "build"}, {"shards", "build"}, {"train", "run"}, {"eval", "run"},
	{"embed-images", "--run", "runs/default", "--out", "found.npy", "images"},
	{"train", "export", "--backbone", "backbone.safetensors"}, published("images"),
}

// published embeds images with the backbone of the finished project.
func published(data string) []string {
	return []string{"embed-images", "--weights", "backbone.safetensors", "--backbone", "convnet", "--out", "zero.npy",
		"-o", "model.backbone.settings.widths=[4]", "-o", "model.backbone.settings.strides=[2]", "-o", "input.size=8", data}
}
