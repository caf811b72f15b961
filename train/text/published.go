package text

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

// Files of each tower in the repositories of OpenAI and LAION, in the formats of transformers and
// open_clip.
var (
	openAIFiles = []string{"model.safetensors (or pytorch_model.bin, converted)", "config.json"}
	laionFiles  = []string{"open_clip_model.safetensors (or open_clip_pytorch_model.bin, converted)",
		"open_clip_config.json"}
)

// PublishedCLIP lists text towers of CLIP that OpenCLIP reads.
var PublishedCLIP = []Published{
	{From: "openai/clip-vit-base-patch32", About: "ViT-B/32: 12 layers of 512, vectors of 512 values",
		Licence: unstatedByModel, Files: openAIFiles},
	{From: "openai/clip-vit-base-patch16", About: "ViT-B/16: 12 layers of 512, vectors of 512 values",
		Licence: unstatedByModel, Files: openAIFiles},
	{From: "openai/clip-vit-large-patch14", About: "ViT-L/14: 12 layers of 768, vectors of 768 values",
		Licence: unstatedByModel, Files: openAIFiles},
	{From: "openai/clip-vit-large-patch14-336", About: "ViT-L/14-336: 12 layers of 768, vectors of 768 values",
		Licence: unstatedByModel, Files: openAIFiles},
	{From: "laion/CLIP-ViT-B-32-laion2B-s34B-b79K", About: "ViT-B/32: 12 layers of 512, vectors of 512 values",
		Licence: "MIT", Files: laionFiles},
	{From: "laion/CLIP-ViT-B-16-laion2B-s34B-b88K", About: "ViT-B/16: 12 layers of 512, vectors of 512 values",
		Licence: "MIT", Files: laionFiles},
	{From: "laion/CLIP-ViT-L-14-laion2B-s32B-b82K", About: "ViT-L/14: 12 layers of 768, vectors of 768 values",
		Licence: "MIT", Files: laionFiles},
	{From: "laion/CLIP-ViT-H-14-laion2B-s32B-b79K", About: "ViT-H/14: 24 layers of 1024, vectors of 1024 values",
		Licence: "MIT", Files: laionFiles},
	{From: "laion/CLIP-ViT-g-14-laion2B-s12B-b42K", About: "ViT-g/14: 24 layers of 1024, vectors of 1024 values",
		Licence: "MIT", Files: laionFiles},
	{From: "laion/CLIP-ViT-bigG-14-laion2B-39B-b160k", About: "ViT-bigG/14: 32 layers of 1280, vectors of 1280 values",
		Licence: "MIT", Files: laionFiles},
}

// PublishedBERT lists sentence encoders of sentence-transformers that OpenBERT reads.
var PublishedBERT = []Published{
	{
		From: "sentence-transformers/all-MiniLM-L6-v2", About: "6 layers of 384, vectors of 384 values",
		Licence: "Apache-2.0",
		Files: []string{"model.safetensors", "config.json", "vocab.txt", "tokenizer_config.json", "sentence_bert_config.json",
			"modules.json", "1_Pooling/config.json"},
		Bytes: 90868376, SHA256: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
	},
	{
		From: "sentence-transformers/all-MiniLM-L12-v2", About: "12 layers of 384, vectors of 384 values",
		Licence: "Apache-2.0",
		Files: []string{"model.safetensors", "config.json", "vocab.txt", "tokenizer_config.json", "sentence_bert_config.json",
			"modules.json", "1_Pooling/config.json"},
	},
}
