package text

import "fmt"

// Published says where the weights of an encoder are published. hgld neither contains nor
// downloads them.
type Published struct {
	From    string   `json:"from"`             // repository
	About   string   `json:"about"`            // description of its size
	Licence string   `json:"licence"`          // SPDX identifier, or that none is stated
	Files   []string `json:"files"`            // required files, the weights first
	Bytes   int64    `json:"bytes,omitempty"`  // of the weights; 0 if not verified
	SHA256  string   `json:"sha256,omitempty"` // of the weights; "" if not verified
}

// unstatedByModel stands for a licence that the repository does not state.
const unstatedByModel = "not stated with the weights"

// PublishedCLIP lists text towers of CLIP that OpenCLIP reads: those of OpenAI in the format of transformers, those of
// LAION in that of open_clip.
var PublishedCLIP = []Published{
	ofOpenAI("base-patch32", "ViT-B/32", 12, 512), ofOpenAI("base-patch16", "ViT-B/16", 12, 512),
	ofOpenAI("large-patch14", "ViT-L/14", 12, 768), ofOpenAI("large-patch14-336", "ViT-L/14-336", 12, 768),
	ofLAION("B-32-laion2B-s34B-b79K", "ViT-B/32", 12, 512), ofLAION("B-16-laion2B-s34B-b88K", "ViT-B/16", 12, 512),
	ofLAION("L-14-laion2B-s32B-b82K", "ViT-L/14", 12, 768), ofLAION("H-14-laion2B-s32B-b79K", "ViT-H/14", 24, 1024),
	ofLAION("g-14-laion2B-s12B-b42K", "ViT-g/14", 24, 1024), ofLAION("bigG-14-laion2B-39B-b160k", "ViT-bigG/14", 32, 1280),
}

func ofOpenAI(name, network string, layers, width int) Published {
	return Published{From: "openai/clip-vit-" + name, About: sizeText(network, layers, width), Licence: unstatedByModel,
		Files: []string{"model.safetensors (or pytorch_model.bin, converted)", "config.json"}}
}

func ofLAION(name, network string, layers, width int) Published {
	return Published{From: "laion/CLIP-ViT-" + name, About: sizeText(network, layers, width), Licence: "MIT",
		Files: []string{"open_clip_model.safetensors (or open_clip_pytorch_model.bin, converted)", "open_clip_config.json"}}
}

func sizeText(network string, layers, width int) string {
	return fmt.Sprintf("%s: %d layers of %d, vectors of %d values", network, layers, width, width)
}

var sentenceFiles = []string{"model.safetensors", "config.json", "vocab.txt", "tokenizer_config.json",
	"sentence_bert_config.json", "modules.json", "1_Pooling/config.json"}

// PublishedBERT lists sentence encoders of sentence-transformers that OpenBERT reads.
var PublishedBERT = []Published{
	{
		From: "sentence-transformers/all-MiniLM-L6-v2", About: "6 layers of 384, vectors of 384 values",
		Licence: "Apache-2.0",
		Files:   sentenceFiles,
		Bytes:   90868376, SHA256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
	},
	{
		From: "sentence-transformers/all-MiniLM-L12-v2", About: "12 layers of 384, vectors of 384 values",
		Licence: "Apache-2.0",
		Files:   sentenceFiles,
	},
}
