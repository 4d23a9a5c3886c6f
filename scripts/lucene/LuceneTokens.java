import java.io.*;
import java.nio.charset.StandardCharsets;
import org.apache.lucene.analysis.*;
import org.apache.lucene.analysis.tokenattributes.*;

/** Prints the terms of every line of standard input by a Lucene analyzer, separated by tabs.
 *  In the lines, \n, \r, \t, \\ stand for those characters. With "types", a term is followed by "/" and its type. */
public class LuceneTokens {
  static Analyzer analyzer(String name) throws Exception {
    if (name.equals("en")) return (Analyzer) Class.forName("io.anserini.analysis.DefaultEnglishAnalyzer").getMethod("newDefaultInstance").invoke(null);
    if (name.equals("el")) return new org.apache.lucene.analysis.el.GreekAnalyzer();
    if (name.equals("th")) return new org.apache.lucene.analysis.th.ThaiAnalyzer();
    if (name.equals("whitespace")) return new org.apache.lucene.analysis.core.WhitespaceAnalyzer();
    if (name.equals("standard")) return new Analyzer() {
      protected TokenStreamComponents createComponents(String f) {
        return new TokenStreamComponents(new org.apache.lucene.analysis.standard.StandardTokenizer()); } };
    if (name.equals("bigrams")) return new org.apache.lucene.analysis.cjk.CJKAnalyzer();
    return (Analyzer) Class.forName("io.anserini.analysis.AnalyzerMap").getMethod("getLanguageSpecificAnalyzer", String.class).invoke(null, name);
  }
  static String unescape(String s) {
    if (s.indexOf('\\') < 0) return s;
    StringBuilder b = new StringBuilder();
    for (int i = 0; i < s.length(); i++) {
      char c = s.charAt(i);
      if (c == '\\' && i + 1 < s.length()) { c = s.charAt(++i); c = c == 'n' ? '\n' : c == 'r' ? '\r' : c == 't' ? '\t' : c; }
      b.append(c);
    }
    return b.toString();
  }
  static String escape(CharSequence s) {
    return s.toString().replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t");
  }
  public static void main(String[] args) throws Exception {
    Analyzer analyzer = analyzer(args[0]);
    boolean types = args.length > 1;
    // Not readLine(): it also ends lines at lone carriage returns.
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 16);
    PrintStream out = new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16), false, "UTF-8");
    StringBuilder line = new StringBuilder();
    for (int c; (c = in.read()) >= 0; ) {
      if (c != '\n') { line.append((char) c); continue; }
      try (TokenStream ts = analyzer.tokenStream("contents", unescape(line.toString()))) {
        CharTermAttribute term = ts.addAttribute(CharTermAttribute.class);
        TypeAttribute type = ts.addAttribute(TypeAttribute.class);
        ts.reset();
        StringBuilder b = new StringBuilder();
        while (ts.incrementToken()) {
          if (term.length() == 0) continue; // Anserini indexes no empty terms
          if (b.length() > 0) b.append('\t');
          b.append(escape(term));
          if (types) b.append('/').append(type.type());
        }
        out.print(b.append('\n'));
      }
      line.setLength(0);
    }
    out.flush();
  }
}
