// SPDX-License-Identifier: Apache-2.0
#include "sim/profiles.h"

#include <algorithm>

namespace muster::sim {
namespace {

// Exposed communication by size: the class defaults for data-parallel (5 %), dense (15 %) and
// expert- or tensor-parallel models across nodes (35 %).
constexpr std::int32_t kNoComm = 0;
constexpr std::int32_t kDataParallel = 50;
constexpr std::int32_t kDense = 150;
constexpr std::int32_t kAcrossNodes = 350;

// Philly (Microsoft; Jeon et al., USENIX ATC 2019). Sizes: all 82,247 rows of the published
// philly.csv (the filtered table of the Pollux and Sia artifacts, msr-fiddle/philly-traces,
// CC-BY-4.0). Quantiles: the 73,389 of these rows in 13 virtual clusters. It is biased towards
// one-GPU jobs (mean 1.3 GPUs; 1.93 in the full trace).
constexpr SizeWeight kPhilly1[] = {{1, 76'627}};
constexpr SizeWeight kPhilly2[] = {{2, 1818}, {4, 1870}};
constexpr SizeWeight kPhilly8[] = {{8, 1643}};
constexpr SizeWeight kPhilly16[] = {{12, 7}, {16, 199}};
constexpr SizeWeight kPhilly32[] = {{24, 7}, {32, 67}, {64, 6}, {128, 3}};
constexpr ProfileRow kPhillyRows[] = {
    {kPhilly1, {1, 29, 51, 61, 86, 1020, 2982, 9009, 19'794, 122'326, 955'540, 3'256'045}, kNoComm},
    {kPhilly2,
     {2, 6, 11, 14, 20, 139, 17'786, 93'509, 179'718, 334'902, 868'158, 2'750'674},
     kDataParallel},
    {kPhilly8,
     {1, 32, 93, 209, 1454, 23'178, 172'102, 332'949, 497'801, 1'083'118, 2'658'784, 4'628'226},
     kDataParallel},
    {kPhilly16,
     {2, 4, 35, 42, 296, 13'570, 109'808, 220'684, 288'467, 534'468, 891'298, 891'298},
     kDense},
    {kPhilly32,
     {1, 1, 4, 345, 924, 4322, 51'170, 59'941, 78'004, 213'302, 213'302, 213'302},
     kDense},
};
// Jobs of one virtual cluster in one second, same rows.
constexpr BurstWeight kPhillyBursts[] = {{1, 66'011}, {2, 3012}, {3, 255}, {4, 53},
                                         {5, 24},     {8, 20},   {12, 6}};
constexpr std::array<std::int32_t, 24> kPhillyHours = {
    4023, 3235, 3256, 3455, 2318, 3725, 4881, 5945, 3473, 2941, 3483, 2947,
    2539, 2407, 2176, 2185, 1883, 1847, 2310, 2326, 2933, 3092, 3146, 2863};

// Helios (SenseTime; Hu et al., SC 2021), virtual cluster vcvGl of Venus, 1,452 jobs of September
// 2020 (HeliosData, CC-BY-4.0): sizes and quantiles of these rows. Ends: GPU jobs of all four
// clusters.
constexpr SizeWeight kHelios1[] = {{1, 65}};
constexpr SizeWeight kHelios4[] = {{2, 79}, {3, 6}, {4, 123}};
constexpr SizeWeight kHelios8[] = {{5, 6}, {6, 12}, {8, 330}};
constexpr SizeWeight kHelios16[] = {{16, 137}};
constexpr SizeWeight kHelios64[] = {{24, 15}, {32, 33}, {40, 6}, {48, 5}, {56, 18}, {64, 28}};
constexpr SizeWeight kHelios128[] = {{72, 3},   {80, 3},   {88, 4},    {96, 12},  {104, 6},
                                     {112, 16}, {120, 99}, {128, 401}, {136, 34}, {144, 11}};
constexpr ProfileRow kHeliosRows[] = {
    {kHelios1, {22, 22, 28, 41, 53, 63, 69, 108, 121, 434, 434, 434}, kNoComm},
    {kHelios4, {8, 17, 19, 23, 81, 95, 116, 219, 508, 786, 837, 837}, kDataParallel},
    {kHelios8, {1, 4, 10, 19, 35, 148, 211, 1815, 5780, 170'029, 303'183, 303'183}, kDataParallel},
    {kHelios16, {1, 1, 2, 2, 3, 108, 1009, 20'922, 37'728, 248'150, 378'127, 378'127}, kDense},
    {kHelios64, {5, 5, 10, 15, 60, 124, 1573, 4471, 65'696, 337'939, 567'327, 567'327}, kDense},
    {kHelios128, {4, 4, 4, 4, 5, 8, 128, 494, 4607, 161'225, 373'385, 373'385}, kAcrossNodes},
};
// A third of the jobs share their second with another of the same user (35.5 % on Saturn).
constexpr BurstWeight kHeliosBursts[] = {{1, 645}, {2, 90}, {3, 30}, {4, 15}, {6, 4}};
constexpr std::array<std::int32_t, 24> kOfficeHours = {40,  30, 25,  20,  20, 20, 25,  35,
                                                       60,  90, 110, 110, 80, 90, 110, 110,
                                                       105, 95, 70,  65,  70, 70, 65,  50};

// Kalos (Shanghai AI Laboratory; Hu et al., NSDI 2024; AcmeTrace, CC-BY-4.0): 240 completed
// pretraining and tuning jobs. Sizes and quantiles of these rows. Ends: all 19,907 GPU jobs of the
// cluster.
constexpr SizeWeight kKalos1[] = {{1, 28}, {2, 41}};
constexpr SizeWeight kKalos32[] = {{8, 8}, {16, 4}, {32, 2}};
constexpr SizeWeight kKalos128[] = {{64, 22}, {96, 3}, {128, 3}};
constexpr SizeWeight kKalos256[] = {{256, 49}};
constexpr SizeWeight kKalos512[] = {{296, 1}, {320, 1}, {496, 4}, {504, 6}, {512, 61}};
constexpr SizeWeight kKalos1024[] = {{1016, 1}, {1024, 6}};
constexpr ProfileRow kKalosRows[] = {
    {kKalos1, {14, 14, 16, 20, 25, 57, 277, 374, 608, 36'459, 36'459, 36'459}, kNoComm},
    {kKalos32,
     {34, 34, 34, 72, 252, 362, 3262, 39'059, 83'779, 83'779, 83'779, 83'779},
     kDataParallel},
    {kKalos128,
     {63, 63, 68, 78, 121, 437, 75'709, 161'288, 215'225, 232'821, 232'821, 232'821},
     kDense},
    {kKalos256,
     {20, 20, 28, 30, 332, 1042, 27'652, 155'235, 217'412, 275'690, 275'690, 275'690},
     kDense},
    {kKalos512,
     {31, 31, 61, 101, 203, 2178, 15'089, 45'657, 115'199, 625'740, 625'740, 625'740},
     kAcrossNodes},
    {kKalos1024,
     {108, 108, 108, 108, 182, 221, 19'368, 96'162, 96'162, 96'162, 96'162, 96'162},
     kAcrossNodes},
};
constexpr BurstWeight kSingles[] = {{1, 95}, {2, 5}};

// Made up: every size from one GPU to sixteen nodes, run times from a minute to a day, so that a
// small cluster shows queues and topology within a simulated day or two.
constexpr SizeWeight kDemoSmall[] = {{1, 400}, {2, 120}, {4, 100}};
constexpr SizeWeight kDemoNode[] = {{8, 180}};
constexpr SizeWeight kDemoGang[] = {{16, 90}, {32, 60}};
constexpr SizeWeight kDemoLarge[] = {{64, 36}, {128, 14}};
constexpr ProfileRow kDemoRows[] = {
    {kDemoSmall,
     {30, 60, 90, 150, 420, 1200, 3600, 7200, 14'400, 36'000, 72'000, 86'400},
     kDataParallel},
    {kDemoNode,
     {60, 90, 180, 300, 900, 3600, 10'800, 21'600, 36'000, 72'000, 86'400, 86'400},
     kDataParallel},
    {kDemoGang,
     {60, 120, 240, 600, 1800, 5400, 14'400, 28'800, 43'200, 72'000, 86'400, 86'400},
     kDense},
    {kDemoLarge,
     {120, 240, 600, 900, 2400, 7200, 18'000, 36'000, 54'000, 79'200, 86'400, 86'400},
     kAcrossNodes},
};

constexpr Profile kProfiles[] = {
    {"demo", "a bit of everything, 1 to 128 GPUs, minutes to a day (made up)", kDemoRows,
     kHeliosBursts, kOfficeHours, 100, 80, 24},
    {"philly", "Microsoft 2017: mostly one GPU, a heavy tail of run times", kPhillyRows,
     kPhillyBursts, kPhillyHours, 305, 90, 300},
    {"helios", "SenseTime 2020, one virtual cluster: bursts of short jobs of up to 144 GPUs",
     kHeliosRows, kHeliosBursts, kOfficeHours, 155, 221, 5},
    {"kalos", "large-model training 2023: gangs of 256 to 1,024 GPUs among small ones", kKalosRows,
     kSingles, kOfficeHours, 397, 62, 40},
};

}  // namespace

std::span<const Profile> Profiles() { return kProfiles; }

const Profile* FindProfile(std::string_view name) {
  const auto* at = std::ranges::find(kProfiles, name, &Profile::name);
  return at == std::end(kProfiles) ? nullptr : at;
}

}  // namespace muster::sim
