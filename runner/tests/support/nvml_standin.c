/* A stand-in for NVIDIA's management library, for tests on machines without a GPU.
 *
 * Tests compile it with `cc` to libnvidia-ml.so.1 in a temporary folder and start programs with
 * LD_LIBRARY_PATH set to it. What the one device answers stands in the plain text file that
 * NVML_STANDIN_STATE names, one `key value` a line; it is read anew at every call, so that a test
 * can change it while a program runs. A reading whose key is missing is NOT_SUPPORTED.
 *
 *   uuid GPU-…             the device; needed
 *   name, vbios, driver    texts
 *   sm_clock, mem_clock, max_sm_clock, app_clock, default_app_clock           MHz
 *   reasons                throttle reasons, a bit mask
 *   temperature            C
 *   power, power_limit     mW
 *   util_gpu, util_memory  percent
 *   ecc_mode, ecc_uncorrected, persistence, mig, pcie_gen, pcie_width, max_pcie_gen, max_pcie_width
 *   memory_total, memory_used, memory_reserved                                bytes
 *   compute PID BYTES, graphics PID BYTES      a process each; BYTES -1: not told
 *   xid NUMBER             an Xid error that has not been told yet; 0 from then on
 *   locked MHZ             written by lock and reset; 0 where nothing is locked
 *   error.FUNCTION CODE    what a function answers instead, as nvmlReturn_t
 *   gone_after N           after N more calls every answer is GPU_IS_LOST; counted down here
 *
 * Every lock and reset adds a line to the file NVML_STANDIN_STATE.log.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

typedef int nvmlReturn_t;
typedef void *nvmlDevice_t;

enum {
    SUCCESS = 0,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9,
    GPU_IS_LOST = 15
};

typedef struct {
    unsigned pid;
    unsigned long long memory;
    unsigned gpu_instance, compute_instance;
} process_t;

typedef struct {
    unsigned version;
    unsigned long long total, reserved, free, used;
} memory_v2_t;

static char text[1 << 16];

static int open_lock(void) {
    char path[4096];
    const char *state = getenv("NVML_STANDIN_STATE");
    if (!state) return -1;
    snprintf(path, sizeof path, "%s.lock", state);
    int fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    if (fd >= 0) flock(fd, LOCK_EX);
    return fd;
}

static void load(void) {
    text[0] = 0;
    const char *state = getenv("NVML_STANDIN_STATE");
    FILE *file = state ? fopen(state, "re") : NULL;
    if (!file) return;
    size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = 0;
    fclose(file);
}

/* The value behind the nth line of that key, up to the line's end. */
static int find(const char *key, int nth, char *out, size_t size) {
    size_t length = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, key, length) || line[length] != ' ') continue;
        if (nth-- > 0) continue;
        const char *from = line + length + 1;
        size_t n = strcspn(from, "\n");
        if (n >= size) n = size - 1;
        memcpy(out, from, n);
        out[n] = 0;
        return 1;
    }
    return 0;
}

static int number(const char *key, long long *out) {
    char value[64];
    if (!find(key, 0, value, sizeof value)) return 0;
    *out = atoll(value);
    return 1;
}

/* Puts a value in the place of a key's first line, or at the end. */
static void store(const char *key, long long value) {
    static char next[sizeof text + 128];
    const char *state = getenv("NVML_STANDIN_STATE");
    size_t length = strlen(key), at = 0;
    int done = 0;
    for (const char *line = text; *line;) {
        size_t n = strcspn(line, "\n");
        if (!done && !strncmp(line, key, length) && line[length] == ' ') {
            at += sprintf(next + at, "%s %lld\n", key, value);
            done = 1;
        } else if (n) {
            memcpy(next + at, line, n);
            at += n;
            next[at++] = '\n';
        }
        line += n;
        if (*line) line++;
    }
    if (!done) at += sprintf(next + at, "%s %lld\n", key, value);
    char path[4096];
    snprintf(path, sizeof path, "%s.%d.new", state, (int)getpid());
    FILE *file = fopen(path, "we");
    if (!file) return;
    fwrite(next, 1, at, file);
    fclose(file);
    rename(path, state);
    load();
}

static void note(const char *what, unsigned mhz) {
    char path[4096];
    snprintf(path, sizeof path, "%s.log", getenv("NVML_STANDIN_STATE"));
    FILE *file = fopen(path, "ae");
    if (!file) return;
    fprintf(file, "%s %u\n", what, mhz);
    fclose(file);
}

/* Begins a call: takes the lock, reads the state, and gives what there is to answer at once. */
static int begin(const char *function, nvmlReturn_t *answer) {
    int fd = open_lock();
    load();
    long long left, code;
    char key[128];
    *answer = SUCCESS;
    if (number("gone_after", &left)) {
        if (left <= 0) *answer = GPU_IS_LOST;
        else store("gone_after", left - 1);
    }
    snprintf(key, sizeof key, "error.%s", function);
    if (*answer == SUCCESS && number(key, &code)) *answer = (nvmlReturn_t)code;
    return fd;
}

static nvmlReturn_t end(int fd, nvmlReturn_t answer) {
    if (fd >= 0) close(fd);
    return answer;
}

static nvmlReturn_t reading(const char *function, const char *key, unsigned *out) {
    nvmlReturn_t answer;
    int fd = begin(function, &answer);
    long long value;
    if (answer != SUCCESS) return end(fd, answer);
    if (!number(key, &value)) return end(fd, NOT_SUPPORTED);
    *out = (unsigned)value;
    return end(fd, SUCCESS);
}

static nvmlReturn_t words(const char *function, const char *key, char *out, unsigned size) {
    nvmlReturn_t answer;
    int fd = begin(function, &answer);
    if (answer != SUCCESS) return end(fd, answer);
    return end(fd, find(key, 0, out, size) ? SUCCESS : NOT_SUPPORTED);
}

nvmlReturn_t nvmlInit_v2(void) {
    nvmlReturn_t answer;
    int fd = begin("nvmlInit_v2", &answer);
    if (answer == SUCCESS && !text[0]) answer = DRIVER_NOT_LOADED;
    return end(fd, answer);
}

nvmlReturn_t nvmlShutdown(void) { return SUCCESS; }

nvmlReturn_t nvmlSystemGetDriverVersion(char *out, unsigned size) {
    return words("nvmlSystemGetDriverVersion", "driver", out, size);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size) {
    (void)pid, (void)out, (void)size;
    return NOT_FOUND;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device) {
    nvmlReturn_t answer;
    char own[128];
    int fd = begin("nvmlDeviceGetHandleByUUID", &answer);
    if (answer != SUCCESS) return end(fd, answer);
    if (!find("uuid", 0, own, sizeof own) || strcmp(own, uuid)) return end(fd, NOT_FOUND);
    *device = text;
    return end(fd, SUCCESS);
}

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *out, unsigned size) {
    (void)d;
    return words("nvmlDeviceGetUUID", "uuid", out, size);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *out, unsigned size) {
    (void)d;
    return words("nvmlDeviceGetName", "name", out, size);
}

nvmlReturn_t nvmlDeviceGetVbiosVersion(nvmlDevice_t d, char *out, unsigned size) {
    (void)d;
    return words("nvmlDeviceGetVbiosVersion", "vbios", out, size);
}

/* nvmlClockType_t: 0 graphics, 1 SM, 2 memory, 3 video. */
nvmlReturn_t nvmlDeviceGetClockInfo(nvmlDevice_t d, int type, unsigned *out) {
    (void)d;
    return reading("nvmlDeviceGetClockInfo", type == 2 ? "mem_clock" : "sm_clock", out);
}

nvmlReturn_t nvmlDeviceGetMaxClockInfo(nvmlDevice_t d, int type, unsigned *out) {
    (void)d;
    return reading("nvmlDeviceGetMaxClockInfo", type == 2 ? "max_mem_clock" : "max_sm_clock", out);
}

nvmlReturn_t nvmlDeviceGetApplicationsClock(nvmlDevice_t d, int type, unsigned *out) {
    (void)d, (void)type;
    return reading("nvmlDeviceGetApplicationsClock", "app_clock", out);
}

nvmlReturn_t nvmlDeviceGetDefaultApplicationsClock(nvmlDevice_t d, int type, unsigned *out) {
    (void)d, (void)type;
    return reading("nvmlDeviceGetDefaultApplicationsClock", "default_app_clock", out);
}

nvmlReturn_t nvmlDeviceGetCurrentClocksThrottleReasons(nvmlDevice_t d, unsigned long long *out) {
    (void)d;
    unsigned value = 0;
    nvmlReturn_t answer = reading("nvmlDeviceGetCurrentClocksThrottleReasons", "reasons", &value);
    *out = value;
    return answer;
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t d, int sensor, unsigned *out) {
    (void)d, (void)sensor;
    return reading("nvmlDeviceGetTemperature", "temperature", out);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned *out) {
    (void)d;
    return reading("nvmlDeviceGetPowerUsage", "power", out);
}

nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned *out) {
    (void)d;
    return reading("nvmlDeviceGetEnforcedPowerLimit", "power_limit", out);
}

nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t d, unsigned *out) {
    (void)d;
    return reading("nvmlDeviceGetPowerManagementLimit", "power_limit", out);
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, unsigned *both) {
    (void)d;
    nvmlReturn_t answer = reading("nvmlDeviceGetUtilizationRates", "util_gpu", &both[0]);
    if (answer != SUCCESS) return answer;
    return reading("nvmlDeviceGetUtilizationRates", "util_memory", &both[1]);
}

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t d, unsigned *current, unsigned *pending) {
    (void)d;
    nvmlReturn_t answer = reading("nvmlDeviceGetEccMode", "ecc_mode", current);
    *pending = *current;
    return answer;
}

/* type 1: uncorrected; counter 0: since the driver was loaded. */
nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t d, int type, int counter,
                                         unsigned long long *out) {
    (void)d, (void)counter;
    unsigned value = 0;
    const char *key = type == 1 ? "ecc_uncorrected" : "ecc_corrected";
    nvmlReturn_t answer = reading("nvmlDeviceGetTotalEccErrors", key, &value);
    *out = value;
    return answer;
}

nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t d, unsigned *out) {
    (void)d;
    return reading("nvmlDeviceGetPersistenceMode", "persistence", out);
}

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned *current, unsigned *pending) {
    (void)d;
    nvmlReturn_t answer = reading("nvmlDeviceGetMigMode", "mig", current);
    *pending = *current;
    return answer;
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t d, unsigned *out) {
    (void)d;
    return reading("nvmlDeviceGetCurrPcieLinkGeneration", "pcie_gen", out);
}

nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t d, unsigned *out) {
    (void)d;
    return reading("nvmlDeviceGetCurrPcieLinkWidth", "pcie_width", out);
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t d, unsigned *out) {
    (void)d;
    return reading("nvmlDeviceGetMaxPcieLinkGeneration", "max_pcie_gen", out);
}

nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t d, unsigned *out) {
    (void)d;
    return reading("nvmlDeviceGetMaxPcieLinkWidth", "max_pcie_width", out);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, memory_v2_t *out) {
    (void)d;
    nvmlReturn_t answer;
    int fd = begin("nvmlDeviceGetMemoryInfo_v2", &answer);
    long long total, used, reserved = 0;
    if (answer != SUCCESS) return end(fd, answer);
    if (!number("memory_total", &total) || !number("memory_used", &used))
        return end(fd, NOT_SUPPORTED);
    number("memory_reserved", &reserved);
    out->total = (unsigned long long)total;
    out->used = (unsigned long long)used;
    out->reserved = (unsigned long long)reserved;
    out->free = (unsigned long long)(total - used - reserved);
    return end(fd, SUCCESS);
}

static nvmlReturn_t processes(const char *function, const char *key, unsigned *count,
                              process_t *out) {
    nvmlReturn_t answer;
    int fd = begin(function, &answer);
    char line[64];
    unsigned found = 0;
    if (answer != SUCCESS) return end(fd, answer);
    while (find(key, (int)found, line, sizeof line)) {
        if (out && found < *count) {
            char *rest;
            out[found].pid = (unsigned)strtoul(line, &rest, 10);
            out[found].memory = (unsigned long long)strtoll(rest, NULL, 10);
            out[found].gpu_instance = out[found].compute_instance = 0xFFFFFFFFu;
        }
        found++;
    }
    answer = found > *count ? INSUFFICIENT_SIZE : SUCCESS;
    *count = found;
    return end(fd, answer);
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *count,
                                                     process_t *out) {
    (void)d;
    return processes("nvmlDeviceGetComputeRunningProcesses_v3", "compute", count, out);
}

nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t d, unsigned *count,
                                                      process_t *out) {
    (void)d;
    return processes("nvmlDeviceGetGraphicsRunningProcesses_v3", "graphics", count, out);
}

nvmlReturn_t nvmlDeviceSetGpuLockedClocks(nvmlDevice_t d, unsigned low, unsigned high) {
    (void)d;
    nvmlReturn_t answer;
    int fd = begin("nvmlDeviceSetGpuLockedClocks", &answer);
    long long most;
    if (answer != SUCCESS) return end(fd, answer);
    if (low > high || (number("max_sm_clock", &most) && high > most))
        return end(fd, INVALID_ARGUMENT);
    /* The log first: whoever waits for the state may look at the log then. */
    note("lock", high);
    store("sm_clock", high);
    store("locked", high);
    return end(fd, SUCCESS);
}

nvmlReturn_t nvmlDeviceResetGpuLockedClocks(nvmlDevice_t d) {
    (void)d;
    nvmlReturn_t answer;
    int fd = begin("nvmlDeviceResetGpuLockedClocks", &answer);
    if (answer != SUCCESS) return end(fd, answer);
    note("reset", 0);
    store("locked", 0);
    return end(fd, SUCCESS);
}

/* Xid errors: `xid NUMBER` is told once and is 0 from then on. */
typedef struct {
    nvmlDevice_t device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
} event_t;

enum { TIMEOUT = 10, XID_EVENT = 8 };

nvmlReturn_t nvmlEventSetCreate(void **set) {
    nvmlReturn_t answer;
    int fd = begin("nvmlEventSetCreate", &answer);
    *set = text;
    return end(fd, answer);
}

nvmlReturn_t nvmlEventSetFree(void *set) {
    (void)set;
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t d, unsigned long long types, void *set) {
    (void)d, (void)types, (void)set;
    nvmlReturn_t answer;
    int fd = begin("nvmlDeviceRegisterEvents", &answer);
    return end(fd, answer);
}

nvmlReturn_t nvmlEventSetWait_v2(void *set, event_t *event, unsigned milliseconds) {
    (void)set, (void)milliseconds;
    nvmlReturn_t answer;
    int fd = begin("nvmlEventSetWait_v2", &answer);
    long long xid;
    if (answer != SUCCESS) return end(fd, answer);
    if (!number("xid", &xid) || !xid) return end(fd, TIMEOUT);
    store("xid", 0);
    event->device = text;
    event->type = XID_EVENT;
    event->data = (unsigned long long)xid;
    return end(fd, SUCCESS);
}
