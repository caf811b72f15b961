package ptx

import (
	"strings"
	"testing"

	"hgld/train/device/cuda"
)

// kernel is a module with one kernel of these instructions.
func kernel(lines ...string) string {
	return ".version 7.5\n.target sm_80\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n.maxntid 32, 1, 1\n{\n" +
		"\t.reg .pred \t%p<3>;\n\t.reg .b32 \t%r<5>;\n\t.reg .f32 \t%f<3>;\n\t.reg .b64 \t%rd<3>;\n" +
		strings.Join(lines, "\n") + "\n}\n"
}

func TestInstructionsBecomeStatements(t *testing.T) {
	for _, c := range [][2]string{
		{"add.s32 %r1, %r2, -1;",
			"r1 = (u32)((u32)((u32)r2 + (u32)-1ll));"},
		{"mul.wide.s32 %rd1, %r1, %r2;",
			"rd1 = (u64)((i64)((i64)((i32)r1) * (i64)((i32)r2)));"},
		{"setp.geu.f32 %p1, %f1, %f2;",
			"|| (float)f1 >= (float)f2);"},
		{"mul.hi.u32 %r1, %r2, %r3;",
			"r1 = (u32)((u32)((u64)(u32)r2 * (u32)r3 >> 32));"},
		{"{ .reg .b64 %tmp;\n cvt.u64.u32 %tmp, %r1;\n cvta.shared.u64 %rd1, %tmp; }",
			"rd1 = (u64)(from_shared((u64)tmp));\n}"},
		{"mov.b32 %r1, %f1;",
			"r1 = (u32)(bits<u32>(f1));"},
		{"mov.f32 %f1, 0f3F800000;",
			"f1 = (float)(bits<float>((u32)0x3F800000ull));"},
		{"@!%p1 bra $L__BB0_2;",
			"if (!p1) { goto $L__BB0_2; }"},
		{"ld.global.s32 %rd1, [%rd2+-8];",
			"load_global<i32, 1>((u64)rd2 + (i64)-8, HG_PTX_LINE); rd1 = (u64)(v.of[0]);"},
		{"shfl.sync.up.b32 %r1, %r2, 4, 0, -1;",
			"shuffle_up((u32)r2, (u32)4ll, (u32)0ll, (u32)-1ll)"},
		{"cvt.rn.bf16x2.f32 %r1, %f1, %f2;",
			"(u32)to_bf16((float)f1) << 16 | to_bf16((float)f2)"},
		{"cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;",
			"copy_async((u64)r1, (u64)rd1, (u32)16ll, (u32)r2, HG_PTX_LINE);"},
	} {
		source, err := Source("k.ptx", kernel("$L__BB0_2:", c[0], "ret;"))
		if err != nil || !strings.Contains(source, c[1]) {
			t.Errorf("%s: %v; %q is not in\n%s", c[0], err, c[1], source)
		}
	}
}

func TestUnknownInstructionsAreRefusedByLine(t *testing.T) {
	for _, line := range []string{
		"tex.1d.v4.f32.s32 {%f1, %f2}, [t, {%r1}];", // no such instruction
		"add.rn.ftz.f32 %f1, %f2, %f2;",             // rounding that no kernel may ask for
		"div.approx.f32 %f1, %f2, %f2;",
		"ld.global.nc.f32 %f1, [%rd1];",
		"bar.sync 1;",
		"mov.u32 %r1, %clock;",
		"add.s32 %r1, %q2, 1;", // no such register
		"mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%f1}, {%r1}, {%r2}, {%f2};",
		"add.s32 %r1, %r2;",
	} {
		_, err := Source("k.ptx", kernel("ret;", line))
		if err == nil || !strings.HasPrefix(err.Error(), "k.ptx:13: "+strings.TrimSuffix(line, ";")) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func TestEveryCommittedKernelIsTranslated(t *testing.T) {
	modules, err := cuda.PTX()
	if err != nil || len(modules) < 40 {
		t.Fatalf("%d modules of PTX: %v", len(modules), err)
	}
	for path, text := range modules {
		source, err := Source(path, text)
		got, want := strings.Count(source, "\nHG_PTX_KERNEL("), strings.Count(text, ".visible .entry ")
		if err != nil || got != want || want == 0 {
			t.Errorf("%s: %d kernels, want %d: %v", path, got, want, err)
		}
	}
}
