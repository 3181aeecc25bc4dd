import java.nio.ByteBuffer;

/**
 * An example of the reader on Android or any JVM: suggestions from a model in a direct buffer.
 *
 * <p>The buffer is a mapped file ({@code FileChannel.map}), which stays referenced as long as the model is open. One
 * object has one session, so one thread at a time may use it.
 */
public final class Tacit implements AutoCloseable {
    static {
        System.loadLibrary("tacit_jni");
    }

    private final ByteBuffer model; // keeps the memory that the reader reads
    private long handle;

    /** Opens a model; an {@code IllegalArgumentException} has the reader's line if it is refused. */
    public Tacit(ByteBuffer direct, String... blocked) {
        model = direct;
        handle = open(direct, blocked);
    }

    /** Returns the k likeliest words after a context that begin with the typed letters. */
    public synchronized String[] complete(String[] context, String typed, int k) {
        if (handle == 0) throw new IllegalStateException("the model is closed");
        return complete(handle, context, typed, k);
    }

    @Override
    public synchronized void close() {
        close(handle);
        handle = 0;
    }

    private static native long open(ByteBuffer model, String[] blocked);

    private static native String[] complete(long handle, String[] context, String typed, int k);

    private static native void close(long handle);

    /** Tries it: {@code java Tacit MODEL WORD...}. */
    public static void main(String[] words) throws java.io.IOException {
        try (java.nio.channels.FileChannel file = java.nio.channels.FileChannel.open(java.nio.file.Path.of(words[0]));
                Tacit tacit = new Tacit(file.map(java.nio.channels.FileChannel.MapMode.READ_ONLY, 0, file.size()))) {
            String[] context = java.util.Arrays.copyOfRange(words, 1, words.length);
            System.out.println(String.join(" ", tacit.complete(context, "", 3)));
        }
    }
}
